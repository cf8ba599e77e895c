import { ServiceError } from '../errors.ts'
import type { Sliced } from '../sliced.ts'

const FORM = /^data:[^,]*;base64$/i
const BASE64 = /^[A-Za-z0-9+/]*$/
const PADDING_DIGITS_MAX = 2
/**
 * The comma must come within this many characters, which is longer than any media type with
 * parameters.
 */
const HEAD_CHARS_MAX = 256
/** A step is decoded in less than a millisecond. Its length is a multiple of four digits. */
const DIGITS_PER_STEP = 256 * 1024

/** Whether a URL has the scheme `data:`. It may still be malformed. */
export function isDataUri(url: string): boolean {
  return /^data:/i.test(url)
}

/**
 * The bytes of `data:<media type>;base64,<data>` (RFC 2397), decoded in slices. The media type is
 * ignored: the first bytes say what it is, as `sniffImageType` reads them. Throws INVALID_ARGUMENT for another
 * form, for bad base64, and for more than `bytesMax` bytes.
 */
export function* parseDataUri(uri: string, bytesMax: number): Sliced<Uint8Array> {
  const comma = uri.slice(0, HEAD_CHARS_MAX).indexOf(',')
  if (comma === -1 || !FORM.test(uri.slice(0, comma))) {
    throw invalid('it must have the form data:image/png;base64,DATA')
  }
  const end = endOfDigits(uri)
  const digits = end - comma - 1
  const bytes = Math.floor((digits * 3) / 4)
  if (bytes > bytesMax) throw invalid(`it is larger than ${bytesMax} bytes`)
  if (digits % 4 === 1) throw notBase64()
  const decoded = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (let from = comma + 1; from < end; from += DIGITS_PER_STEP) {
    const part = uri.slice(from, Math.min(end, from + DIGITS_PER_STEP))
    // Node's decoder skips other characters, so a damaged image would decode to different bytes.
    if (!BASE64.test(part)) throw notBase64()
    at += decoded.write(part, at, 'base64')
    yield undefined
  }
  return decoded
}

/** The index of the padding, or the length of the text. */
function endOfDigits(uri: string): number {
  let end = uri.length
  while (uri.length - end < PADDING_DIGITS_MAX && uri[end - 1] === '=') end -= 1
  return end
}

function notBase64(): ServiceError {
  return invalid('the data after the comma is not base64')
}

function invalid(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `data URI: ${why}`)
}
