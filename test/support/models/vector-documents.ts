// Documents with vectors in memory, and what a query that compares with all of them must answer.

import type { QueryRequest } from '../../../clients/typescript/src/contract/store.v1.ts'
import type { Random } from '../../../lib/random.ts'

export type IndexName = 'near' | 'turned' | 'terms'
type Sparse = Readonly<Record<string, number>>
export type Vectors = Partial<Record<IndexName, readonly number[] | Sparse>>

export interface ModelDocument {
  readonly words: readonly string[]
  readonly n: number
  readonly vectors: Vectors
}

/** One list of a merged query: keys and values, the best first. */
export interface ModelList {
  readonly weight: number
  readonly isDistance: boolean
  readonly hits: readonly (readonly [key: string, value: number])[]
}

const DIMENSION = 6
const WORDS = ['river', 'island', 'harbour', 'meadow', 'tower']

/** The indexes of the table. Distances of `near` are whole numbers, and many are equal; so are products of `terms`. */
export const MODEL_INDEXES = {
  near: { type: 'embeddings', external: true, dimension: DIMENSION },
  turned: { type: 'embeddings', external: true, dimension: DIMENSION, distance_metric: 'cosine' },
  terms: { type: 'embeddings', external: true, sparse: true },
} as const

export const INDEX_NAMES: readonly IndexName[] = ['near', 'turned', 'terms']

export function randomVector(name: IndexName, random: Random): readonly number[] | Sparse {
  const whole = (below: number): number => Math.floor(random() * below)
  if (name === 'near') return Array.from({ length: DIMENSION }, () => whole(3))
  if (name === 'turned') return Array.from({ length: DIMENSION }, () => Math.fround(random() - 0.5))
  return Object.fromEntries(Array.from({ length: 1 + whole(4) }, () => [whole(12), 1 + whole(3)]))
}

export function randomWord(random: Random): string {
  return WORDS[Math.floor(random() * WORDS.length)] ?? ''
}

export function randomDocument(random: Random): ModelDocument {
  const names = INDEX_NAMES.filter(() => random() < 0.85)
  return {
    words: Array.from({ length: 3 }, () => randomWord(random)),
    n: Math.floor(random() * 100),
    vectors: Object.fromEntries(names.map((name) => [name, randomVector(name, random)])),
  }
}

/** What the store is sent of a document. */
export function writtenDocument({ words, n, vectors }: ModelDocument): Record<string, unknown> {
  return { text: words.join(' '), n, _embeddings: vectors }
}

/** By the distance, or the negated product, of each document that passes; ties by key. */
export function nearestOf(
  documents: ReadonlyMap<string, ModelDocument>,
  name: IndexName,
  {
    to,
    passes,
  }: {
    readonly to: readonly number[] | Sparse
    readonly passes: (document: ModelDocument) => boolean
  },
): [key: string, distance: number][] {
  const found: [string, number][] = []
  for (const [key, document] of documents) {
    const vector = document.vectors[name]
    const distance = vector === undefined ? undefined : distanceOf(name, vector, to)
    if (distance !== undefined && passes(document)) found.push([key, distance])
  }
  return found.toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
}

/** Undefined for vectors that have no term in common. */
function distanceOf(
  name: IndexName,
  a: readonly number[] | Sparse,
  b: readonly number[] | Sparse,
): number | undefined {
  const [x, y] = [Object.entries(a), new Map(Object.entries(b))]
  const sum = (of: (one: number, other: number) => number): number =>
    x.reduce((total, [at, one]) => total + of(one, y.get(at) ?? 0), 0)
  const product = sum((one, other) => one * other)
  if (name === 'terms') return product > 0 ? -product : undefined
  if (name === 'near') return sum((one, other) => (one - other) ** 2)
  const squares = [...y.values()].reduce((total, one) => total + one ** 2, 0)
  return 1 - product / Math.sqrt(sum((one) => one ** 2) * squares)
}

/** One list's threshold, as a query has it. */
export type Threshold = NonNullable<NonNullable<QueryRequest['merge_config']>['thresholds']>[string]

/** What a threshold leaves of a list, as the contract says, from scratch. */
export function leftOf(
  { hits, ...list }: ModelList,
  { min_score, distance_under, distance_over, autocut }: Threshold,
): ModelList {
  const good = hits.filter(
    ([, value]) =>
      (min_score === undefined || Math.abs(value) >= min_score) &&
      (distance_under === undefined || value <= distance_under) &&
      (distance_over === undefined || value >= distance_over),
  )
  return {
    ...list,
    hits: good.slice(
      0,
      endOf(
        good.map(([, value]) => value),
        autocut,
      ),
    ),
  }
}

/** Where a list ends before its n-th jump. */
export function endOf(values: readonly number[], autocut: number | undefined): number {
  const last = values.at(-1) ?? NaN
  const jumps = values.flatMap((value, at) => {
    const behind = values.slice(at + 1)
    const far = behind.reduce((sum, one) => sum + Math.abs(one - last), 0)
    const step = Math.abs(value - (behind[0] ?? NaN))
    // Multiplied by the number of hits behind, so that whole numbers stay exact.
    return behind.length >= 3 && step * behind.length > 3 * far ? [at + 1] : []
  })
  return autocut === undefined ? values.length : (jumps[autocut - 1] ?? values.length)
}

/** Fuses lists as the contract says, from scratch: in their order, because sums of equal shares are to be equal. */
export function fusedOf(
  lists: readonly ModelList[],
  { strategy = 'rrf', rank_constant = 60 }: NonNullable<QueryRequest['merge_config']>,
): [key: string, score: number][] {
  const scores = new Map<string, number>()
  for (const { weight, isDistance, hits } of lists) {
    const values = hits.map(([, value]) => (isDistance ? -value : value))
    const [best, worst] = [Math.max(...values), Math.min(...values)]
    for (const [at, [key]] of hits.entries()) {
      const scaled =
        best === worst ? weight : (weight * ((values[at] ?? 0) - worst)) / (best - worst)
      const share = strategy === 'rsf' ? scaled : weight / (rank_constant + at + 1)
      scores.set(key, (scores.get(key) ?? 0) + share)
    }
  }
  return [...scores].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
}
