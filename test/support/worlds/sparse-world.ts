// An engine of sparse vectors in this thread, and what a comparison with every vector finds.

import { ManualClock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { encodeArtifact, type SparseRow } from '../../../node/embedding/artifact.ts'
import type { SparseIndexSettings } from '../../../node/embedding/sparse-index-settings.ts'
import { packBatch, type DocumentChange } from '../../../node/index/host/document-batch.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../../node/index/files/disk-work.ts'
import type { AskedQuestion, IndexEngine } from '../../../node/index/host/index-engine.ts'
import { openSparseFamily } from '../../../node/index/sparse/hosted/sparse-family.ts'
import type { RowsIndexLimits } from '../../../node/index/rows/row-segments.ts'
import { unpackNearest } from '../../../node/index/vector/search/packed-nearest.ts'
import type {
  NearestAnswer,
  SparseRequest,
  SparseVector,
} from '../../../node/index/vector/vector-search.ts'

export const SPARSE_SETTINGS: SparseIndexSettings = {
  minWeight: 0,
  chunkSize: 1024,
}

/** A flushed tail is a segment, and soon there are several to merge. */
export const SMALL_SPARSE_LIMITS: RowsIndexLimits = {
  tailBytesMax: 2 ** 20,
  tailRowsMax: 2000,
  mergePolicy: {
    graphRowsMin: 1,
    settledGraphRowsMin: 1,
    tierCount: 2,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}

/** `{7: 0.5}` as a vector. */
export function sparse(weights: Readonly<Record<number, number>>): SparseVector {
  const terms = Object.keys(weights)
    .map(Number)
    .toSorted((a, b) => a - b)
  return {
    terms: Uint32Array.from(terms),
    weights: Float32Array.from(terms, (term) => weights[term] ?? 0),
  }
}

export interface SparseDocumentGiven {
  readonly key: string
  readonly ordinal: number
  readonly vectors: readonly SparseVector[]
  readonly expiresAtMs?: number
}

/** The write of a document's vectors; row n stands for the characters from 10 n on. */
export function putSparse(given: SparseDocumentGiven): DocumentChange {
  const { key, ordinal, vectors, expiresAtMs = 0 } = given
  const rows = vectors.map((vector, n): SparseRow => ({
    start: n * 10,
    end: n * 10 + 9,
    ...vector,
  }))
  const json = encodeArtifact({ kind: 'sparse', ordinal, sourceHash: undefined, rows })
  return { key: Buffer.from(key), json, expiresAtMs, ordinal }
}

/** As a table's record has them. */
export function recordedSparse(settings: SparseIndexSettings): unknown {
  return { external: true, sparse: true, ...settings }
}

export function sparseNearestTo(
  vector: SparseVector,
  more: Partial<SparseRequest> = {},
): AskedQuestion & { readonly request: SparseRequest } {
  return { question: 'nearest', request: { vector, limit: 10, nowMs: 0, ...more } }
}

export interface SparseWorldOptions {
  readonly settings?: SparseIndexSettings
  /** Default: in memory only. */
  readonly directory?: string | undefined
  readonly limits?: RowsIndexLimits
  /** Default: this thread syncs. */
  readonly disk?: DiskWork
}

/** One index, whose calls run to their ends. */
export class SparseWorld implements Disposable {
  readonly engine: IndexEngine
  #sequence: number

  constructor(options: SparseWorldOptions = {}) {
    const { settings = SPARSE_SETTINGS, directory, limits, disk = DISK_WORK_HERE } = options
    const family = openSparseFamily(
      { clock: new ManualClock(), memoryBytesMax: 2 ** 24, disk },
      limits,
    )
    const definition = {
      id: '0123456789abcdef',
      kind: 'vectors',
      name: 'tested',
      memOnly: directory === undefined,
      settings: recordedSparse(settings),
    }
    const source = { kind: 'given', schema: undefined } as const
    const opened = runAtOnce(family.open({ definition, directory, source, fields: [] }))
    if (opened.kind === 'outdated') throw new TypeError(opened.outdated.reason)
    this.engine = opened.engine
    this.#sequence = this.engine.checkpoint
  }

  apply(...changes: readonly DocumentChange[]): void {
    this.#sequence += 1
    runAtOnce(this.engine.apply(packBatch(this.#sequence, changes), () => undefined))
  }

  flush(): void {
    runAtOnce(this.engine.flush(this.#sequence))
  }

  /** Until there is nothing left to merge. */
  settle(): void {
    this.flush()
    while (this.engine.maintain());
  }

  nearest(vector: SparseVector, more: Partial<SparseRequest> = {}): NearestAnswer {
    const answer = runAtOnce(this.engine.answer(sparseNearestTo(vector, more)))
    return runAtOnce(unpackNearest(Object(answer)))
  }

  /** The keys with their inner products. */
  products(
    vector: SparseVector,
    more: Partial<SparseRequest> = {},
  ): readonly (readonly [string, number])[] {
    return this.nearest(vector, more).hits.map(({ key, distance }) => {
      return [Buffer.from(key).toString(), -distance] as const
    })
  }

  [Symbol.dispose](): void {
    this.engine.close()
  }
}

/** Vectors as models of sparse ones give them: few terms are frequent, most are rare. */
export function randomSparse(
  random: Random,
  { vocabulary, terms }: { readonly vocabulary: number; readonly terms: number },
): SparseVector {
  const weights: Record<number, number> = {}
  for (let i = 0; i < terms; i += 1) {
    const term = Math.floor(vocabulary * random() ** 3)
    weights[term] = Math.fround(0.01 + 3 * random() ** 2)
  }
  return sparse(weights)
}

/** Σab as its definition says, in the order of the terms. */
export function plainProduct(a: SparseVector, b: SparseVector): number {
  const weights = new Map([...b.terms].map((term, at) => [term, b.weights[at] ?? 0]))
  return [...a.terms].reduce((sum, term, at) => {
    return sum + (a.weights[at] ?? 0) * (weights.get(term) ?? 0)
  }, 0)
}
