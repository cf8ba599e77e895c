import { isJsonRecord, isText } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

export interface TokenPadding {
  readonly id: number
  readonly side: 'left' | 'right'
}

const USUAL_PAD_TOKENS = ['[PAD]', '<pad>', '<|pad|>']

/** The pad token of tokenizer_config.json, else its end token, else a usual name, else 0. */
export function parsePadding(
  config: JsonRecord,
  idOf: (token: string) => number | undefined,
): TokenPadding {
  const named = [config['pad_token'], config['eos_token']].map(contentOf)
  const id = [...named, ...USUAL_PAD_TOKENS]
    .map((token) => (token === undefined ? undefined : idOf(token)))
    .find((found) => found !== undefined)
  return { id: id ?? 0, side: config['padding_side'] === 'left' ? 'left' : 'right' }
}

/** A token is named by its text or by an object that holds it. */
function contentOf(token: unknown): string | undefined {
  if (isText(token)) return token
  return isJsonRecord(token) && isText(token['content']) ? token['content'] : undefined
}
