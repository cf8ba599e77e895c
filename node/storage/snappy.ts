import { ServiceError } from '../../lib/errors.ts'

/** The length that a malformed block could claim is not trusted beyond this. */
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024

/**
 * Unpacks a block of Snappy's raw format (google/snappy, format_description.txt). Throws CORRUPTION for
 * other bytes.
 */
export function unpackSnappy(packed: Buffer): Buffer {
  const { value: length, next } = readVarint(packed, 0)
  if (length > UNPACKED_BYTES_MAX) throw malformed()
  const out = Buffer.alloc(length)
  let at = next
  let to = 0
  while (at < packed.length) {
    const tag = packed[at] ?? 0
    const element = (tag & 3) === 0 ? literalAt(packed, at) : copyAt(packed, at)
    const from = element.kind === 'literal' ? element.from : to - element.offset
    if (from < 0 || to + element.length > length) throw malformed()
    if (element.kind === 'literal') packed.copy(out, to, from, from + element.length)
    else repeat(out, { from, to, length: element.length })
    to += element.length
    at = element.next
  }
  if (to !== length) throw malformed()
  return out
}

type Element =
  | {
      readonly kind: 'literal'
      readonly from: number
      readonly length: number
      readonly next: number
    }
  | {
      readonly kind: 'copy'
      readonly offset: number
      readonly length: number
      readonly next: number
    }

function literalAt(packed: Buffer, at: number): Element {
  const short = (packed[at] ?? 0) >>> 2
  const lengthBytes = short < 60 ? 0 : short - 59
  const from = at + 1 + lengthBytes
  if (from > packed.length) throw malformed()
  const length = 1 + (lengthBytes === 0 ? short : packed.readUIntLE(at + 1, lengthBytes))
  if (from + length > packed.length) throw malformed()
  return { kind: 'literal', from, length, next: from + length }
}

function copyAt(packed: Buffer, at: number): Element {
  const tag = packed[at] ?? 0
  const kind = tag & 3
  const offsetBytes = kind === 1 ? 1 : kind === 2 ? 2 : 4
  const next = at + 1 + offsetBytes
  if (next > packed.length) throw malformed()
  const low = packed.readUIntLE(at + 1, offsetBytes)
  const offset = kind === 1 ? ((tag >>> 5) << 8) | low : low
  const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
  if (offset === 0) throw malformed()
  return { kind: 'copy', offset, length, next }
}

/** A copy may overlap what it writes: then it repeats. */
function repeat(
  out: Buffer,
  { from, to, length }: { readonly from: number; readonly to: number; readonly length: number },
): void {
  for (let i = 0; i < length; i++) out[to + i] = out[from + i] ?? 0
}

/** An unsigned number of LevelDB and Snappy: seven bits in each byte, the lowest first. */
export function readVarint(
  bytes: Buffer,
  at: number,
): { readonly value: number; readonly next: number } {
  let value = 0
  let scale = 1
  for (let next = at; next < bytes.length && next < at + 8; next++) {
    const byte = bytes[next] ?? 0
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return { value, next: next + 1 }
    scale *= 128
  }
  throw malformed()
}

function malformed(): ServiceError {
  return new ServiceError('CORRUPTION', 'a packed block is malformed')
}
