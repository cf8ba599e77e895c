import { TextDecoder } from 'node:util'
import type { Sliced } from '../../lib/sliced.ts'
import { refuseMedium } from './media-error.ts'

/** Decoded in a step. */
const STEP_BYTES = 128 * 1024
const BYTE_ORDER_MARKS: readonly (readonly [mark: string, charset: string])[] = [
  ['efbbbf', 'utf-8'],
  ['feff', 'utf-16be'],
  ['fffe', 'utf-16le'],
]

/** Decodes by the byte order mark, else by the sender's charset, else as UTF-8. */
export function decoderOf(bytes: Buffer, charset: string | undefined): TextDecoder {
  const start = bytes.toString('hex', 0, 3)
  const marked = BYTE_ORDER_MARKS.find(([mark]) => start.startsWith(mark))?.[1]
  try {
    return new TextDecoder(marked ?? charset ?? 'utf-8')
  } catch {
    throw refuseMedium(`its charset ${charset} is not known`)
  }
}

/** Throws INVALID_ARGUMENT for more characters than `lengthMax`. */
export function* decodeText(
  bytes: Buffer,
  charset: string | undefined,
  lengthMax: number,
): Sliced<string> {
  const decoder = decoderOf(bytes, charset)
  const parts: string[] = []
  let length = 0
  for (let from = 0; from < bytes.length; from += STEP_BYTES) {
    const isLast = from + STEP_BYTES >= bytes.length
    const part = decoder.decode(bytes.subarray(from, from + STEP_BYTES), { stream: !isLast })
    length += part.length
    if (length > lengthMax) throw refuseMedium(`its text has more than ${lengthMax} characters`)
    parts.push(part)
    yield
  }
  return parts.join('')
}
