// Vectors that other programs made of texts, to compare ours with.

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'

/** A text, and what is kept of its vector of length 1. */
export interface KnownVector {
  readonly text: string
  /** The ids of its tokens, special ones included. */
  readonly ids: readonly number[]
  readonly first8: readonly number[]
  /** The product with cos(0), cos(1) and so on, which notices a permutation. */
  readonly dot: number
}

/** The contents of `test/fixtures/embedders/<model>.json`. */
export async function readKnownVectors(model: string): Promise<readonly KnownVector[]> {
  const file = new URL(`../../fixtures/embedders/${model}.json`, import.meta.url)
  const { answers }: { readonly answers: readonly KnownVector[] } = JSON.parse(
    await readFile(file, 'utf8'),
  )
  return answers
}

/** On 300 texts the server's numbers were at most 2.3e-7 from those of sentence-transformers. */
export function expectKnown(vector: readonly number[], { text, first8, dot }: KnownVector): void {
  const sum = vector.reduce((total, value, at) => total + value * Math.cos(at), 0)
  expect(Math.hypot(...vector), text).to.be.closeTo(1, 1e-6)
  expect(sum, text).to.be.closeTo(dot, 1e-5)
  first8.forEach((value, at) => expect(vector[at], text).to.be.closeTo(value, 1e-6))
}
