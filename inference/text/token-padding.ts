import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isText } from './json-values.ts'

/** The token that fills up short rows, and the side on which it is added. */
export interface TokenPadding {
  readonly id: number
  readonly side: 'left' | 'right'
}

const USUAL_PAD_TOKENS = ['[PAD]', '<pad>', '<|pad|>']

/**
 * Reads the padding from tokenizer_config.json. The id is that of the pad token, else of the end
 * token, else of a usual name, else 0.
 */
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

/** A configuration names a token by its text, or by an object with the text as its content. */
function contentOf(token: unknown): string | undefined {
  if (isText(token)) return token
  return isJsonRecord(token) && isText(token['content']) ? token['content'] : undefined
}
