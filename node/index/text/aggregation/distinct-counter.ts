// Counts distinct values. The count is exact up to DISTINCT_EXACT_MAX. Beyond that it is an
// estimate by HyperLogLog (Flajolet et al., 2007) with 2^14 registers, with a standard error of
// 1.04 / sqrt(2^14) = 0.8 %.

import type { BucketKey, DistinctPartial, SketchPartial } from './aggregation-partial.ts'

export const DISTINCT_EXACT_MAX = 65_536

const INDEX_BITS = 14
const REGISTERS = 2 ** INDEX_BITS
const BIAS = 0.7213 / (1 + 1.079 / REGISTERS)

/** Counts distinct values and merges the counts of several shards. */
export class DistinctCounter {
  #values = new Set<BucketKey>()
  #registers: Uint8Array | undefined

  add(value: BucketKey): void {
    if (this.#registers !== undefined) {
      record(this.#registers, value)
      return
    }
    this.#values.add(value)
    if (this.#values.size > DISTINCT_EXACT_MAX) this.#sketch()
  }

  addSketch(registers: Uint8Array): void {
    const own = this.#sketch()
    for (const [i, rank] of registers.entries()) own[i] = Math.max(own[i] ?? 0, rank)
  }

  count(): number {
    return this.#registers === undefined ? this.#values.size : estimate(this.#registers)
  }

  partial(): DistinctPartial | SketchPartial {
    return this.#registers === undefined
      ? { kind: 'distinct', values: [...this.#values] }
      : { kind: 'sketch', registers: this.#registers }
  }

  #sketch(): Uint8Array {
    if (this.#registers !== undefined) return this.#registers
    const registers = new Uint8Array(REGISTERS)
    for (const value of this.#values) record(registers, value)
    this.#values = new Set()
    this.#registers = registers
    return registers
  }
}

function record(registers: Uint8Array, value: BucketKey): void {
  const text = `${typeof value}:${value}`
  const index = hash32(text, 0x9747b28c) >>> (32 - INDEX_BITS)
  const rank = Math.clz32(hash32(text, 0x3c6ef372)) + 1
  if (rank > (registers[index] ?? 0)) registers[index] = rank
}

function estimate(registers: Uint8Array): number {
  let [sum, zeros] = [0, 0]
  for (const rank of registers) {
    sum += 2 ** -rank
    if (rank === 0) zeros += 1
  }
  const raw = (BIAS * REGISTERS * REGISTERS) / sum
  // Linear counting, because HyperLogLog is biased for small counts.
  const isFew = raw <= 2.5 * REGISTERS && zeros > 0
  return Math.round(isFew ? REGISTERS * Math.log(REGISTERS / zeros) : raw)
}

/** MurmurHash3 (x86, 32 bits) of UTF-16 code units. */
function hash32(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i += 1) {
    let unit = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    unit = Math.imul((unit << 15) | (unit >>> 17), 0x1b873593)
    hash ^= unit
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
  }
  hash ^= text.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
