// Vectors as clients read them.
//
// Binary, little-endian: u64 count, u64 dimension, then count * dimension f32, row after row.
// JSON: the shortest decimals that are the same 32-bit numbers again.

const HEADER_BYTES = 16
const FLOAT_BYTES = 4
/** Printing 1,024 numbers takes less than a millisecond. */
const NUMBERS_PER_PIECE = 1_024
const DIGITS_MIN = 6
/** Always enough for 32 bits. */
const DIGITS_MAX = 9
/** The bytes of an answer without vectors. */
const EMPTY_BYTES = FLOAT_BYTES + FLOAT_BYTES

export function vectorBytesLength(count: number, dimension: number): number {
  return count === 0 ? EMPTY_BYTES : HEADER_BYTES + count * dimension * FLOAT_BYTES
}

/** The head, then each vector. */
export function* vectorBytes(
  vectors: readonly Float32Array[],
  dimension: number,
): Generator<Buffer, void, undefined> {
  const head = Buffer.alloc(vectors.length === 0 ? EMPTY_BYTES : HEADER_BYTES)
  if (vectors.length > 0) {
    head.writeBigUInt64LE(BigInt(vectors.length), 0)
    head.writeBigUInt64LE(BigInt(dimension), HEADER_BYTES / 2)
  }
  yield head
  for (const vector of vectors) yield littleEndian(vector)
}

export function* vectorJsonPieces(vector: Float32Array): Generator<string, void, undefined> {
  let separator = '['
  for (let from = 0; from < vector.length; from += NUMBERS_PER_PIECE) {
    const numbers = vector.subarray(from, from + NUMBERS_PER_PIECE)
    yield separator + Array.from(numbers, shortest).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

export function vectorBase64(vector: Float32Array): string {
  return littleEndian(vector).toString('base64')
}

function shortest(value: number): string {
  for (let digits = DIGITS_MIN; digits < DIGITS_MAX; digits++) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return String(rounded)
  }
  return String(Number(value.toPrecision(DIGITS_MAX)))
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

function littleEndian({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32()
}
