// An engine of vectors in this thread, and what an exact comparison with every vector finds.

import { ManualClock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { DenseIndexSettings, Metric } from '../../../node/embedding/settings.ts'
import { packBatch, type DocumentChange } from '../../../node/index/host/document-batch.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../../node/index/files/disk-work.ts'
import type { IndexEngine, OnWork } from '../../../node/index/host/index-engine.ts'
import type { RowsIndexLimits } from '../../../node/index/rows/row-segments.ts'
import { BUILDS_HERE, type GraphBuilder } from '../../../node/index/vector/building/graph-job.ts'
import { openVectorFamily } from '../../../node/index/vector/hosted/vector-family.ts'
import { unpackNearest } from '../../../node/index/vector/search/packed-nearest.ts'
import type {
  NearestAnswer,
  NearestRequest,
  PackedNearest,
} from '../../../node/index/vector/vector-search.ts'
import { nearestTo, recordedSettings } from './vector-documents.ts'

export interface VectorWorldOptions {
  readonly settings: DenseIndexSettings
  /** Default: in memory only. */
  readonly directory?: string | undefined
  readonly limits?: RowsIndexLimits
  /** Default: graphs are made in this thread. */
  readonly builder?: GraphBuilder
  /** Default: this thread syncs. */
  readonly disk?: DiskWork
  readonly onWork?: OnWork
}

/** One index, whose calls run to their ends. */
export class VectorWorld implements Disposable {
  readonly engine: IndexEngine
  #sequence: number

  constructor(options: VectorWorldOptions) {
    const { settings, directory, limits, builder = BUILDS_HERE, onWork } = options
    const { disk = DISK_WORK_HERE } = options
    const parts = { clock: new ManualClock(), memoryBytesMax: 2 ** 30, disk }
    const definition = {
      id: '0123456789abcdef',
      kind: 'vectors',
      name: 'tested',
      memOnly: directory === undefined,
      settings: recordedSettings(settings),
    }
    const source = { kind: 'given', schema: undefined } as const
    const family = openVectorFamily(parts, {
      builder,
      ...(limits === undefined ? {} : { limits }),
    })
    const opened = runAtOnce(family.open({ definition, directory, source, fields: [] }, onWork))
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

  /** Until there is nothing left to merge, or another thread is to make a graph first. */
  settle(): void {
    this.flush()
    while (this.engine.maintain());
  }

  nearest(vector: Float32Array, more: Partial<NearestRequest> = {}): NearestAnswer {
    const answer = runAtOnce(this.engine.answer(nearestTo(vector, more)))
    return runAtOnce(unpackNearest(packed(answer)))
  }

  keys(vector: Float32Array, more: Partial<NearestRequest> = {}): readonly string[] {
    return this.nearest(vector, more).hits.map(({ key }) => Buffer.from(key).toString())
  }

  [Symbol.dispose](): void {
    this.engine.close()
  }
}

/** It is the engine that says it. */
function packed(answer: unknown): PackedNearest {
  return Object(answer)
}

/** Vectors around some points: those of one point are much nearer to each other. */
export class Clusters {
  readonly #random: Random
  readonly #centers: readonly Float32Array[]
  readonly #spread: number

  constructor(
    random: Random,
    { dimension, count, spread }: { dimension: number; count: number; spread: number },
  ) {
    this.#random = random
    this.#spread = spread
    this.#centers = Array.from({ length: count }, () =>
      this.#around(new Float32Array(dimension), 1),
    )
  }

  get count(): number {
    return this.#centers.length
  }

  vector(cluster: number): Float32Array {
    return this.#around(this.#centers[cluster % this.count] ?? new Float32Array(0), this.#spread)
  }

  #around(center: Float32Array, spread: number): Float32Array {
    return center.map((value) => value + spread * this.#normal())
  }

  /** Box and Muller. */
  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random()))
    return radius * Math.cos(2 * Math.PI * this.#random())
  }
}

type Distance = (a: Float32Array, b: Float32Array) => number

const dot: Distance = (a, b) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)

/** The distances as their definitions say. */
export const PLAIN_DISTANCES: Readonly<Record<Metric, Distance>> = {
  l2_squared: (a, b) => a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0),
  inner_product: (a, b) => -dot(a, b),
  cosine: (a, b) => 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)),
}
