import { ServiceError } from '../../lib/errors.ts'

const FORM = /^data:[^,]*;base64$/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Longer than any media type with its parameters: the comma is not looked for beyond it. */
const HEAD_CHARS_MAX = 256

export function isDataUri(url: string): boolean {
  return /^data:/i.test(url)
}

/**
 * The bytes of `data:<media type>;base64,<data>` (RFC 2397). The media type is not answered: what
 * the bytes are is read from themselves.
 */
export function parseDataUri(uri: string, bytesMax: number): Uint8Array {
  const comma = uri.slice(0, HEAD_CHARS_MAX).indexOf(',')
  if (comma === -1 || !FORM.test(uri.slice(0, comma))) {
    throw invalid('it must have the form data:image/png;base64,DATA')
  }
  const digits = uri.length - comma - 1
  const bytesAtLeast = Math.floor((digits * 3) / 4) - 2
  if (bytesAtLeast > bytesMax) throw invalid(`it is larger than ${bytesMax} bytes`)
  const data = uri.slice(comma + 1)
  // Node's decoder passes over what is not base64, so that a damaged image would decode to another.
  if (!BASE64.test(data) || data.replace(/=+$/, '').length % 4 === 1) {
    throw invalid('what follows the comma is not base64')
  }
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length > bytesMax) throw invalid(`it is larger than ${bytesMax} bytes`)
  return bytes
}

function invalid(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `data URI: ${why}`)
}
