// Vectors as clients read them.
//
// Binary, little-endian: u64 count, u64 dimension, then count * dimension f32, row after row.
// JSON: the shortest decimals that are the same 32-bit numbers again.

import { setImmediate } from 'node:timers/promises'

const HEADER_BYTES = 16
const FLOAT_BYTES = 4
/** Printing a vector takes a tenth of a millisecond. */
const VECTORS_PER_TURN = 16
const DIGITS_MIN = 6
/** Always enough for 32 bits. */
const DIGITS_MAX = 9

export function vectorBytes(vectors: readonly Float32Array[], dimension: number): Buffer {
  if (vectors.length === 0) return Buffer.alloc(FLOAT_BYTES + FLOAT_BYTES)
  const bytes = Buffer.alloc(HEADER_BYTES + vectors.length * dimension * FLOAT_BYTES)
  bytes.writeBigUInt64LE(BigInt(vectors.length), 0)
  bytes.writeBigUInt64LE(BigInt(dimension), HEADER_BYTES / 2)
  vectors.forEach((vector, index) => {
    bytes.set(littleEndian(vector), HEADER_BYTES + index * dimension * FLOAT_BYTES)
  })
  return bytes
}

/** Prints each vector, and lets others have their turn in between. */
export async function printVectors(
  vectors: readonly Float32Array[],
  print: (vector: Float32Array) => string,
): Promise<string[]> {
  const printed: string[] = []
  for (const [index, vector] of vectors.entries()) {
    printed.push(print(vector))
    if (index % VECTORS_PER_TURN === VECTORS_PER_TURN - 1) await setImmediate()
  }
  return printed
}

export function vectorJson(vector: Float32Array): string {
  return `[${Array.from(vector, shortest).join(',')}]`
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
