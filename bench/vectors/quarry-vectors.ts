// Our engine of vectors in this process, driven by its seam.

import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../lib/clock.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import { encodeArtifact } from '../../node/embedding/artifact.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import type { IndexEngine } from '../../node/index/host/index-engine.ts'
import type { OrdinalSet } from '../../node/index/host/ordinal-set.ts'
import { BuilderThread } from '../../node/index/vector/building/builder-thread.ts'
import type {
  GraphBuilder,
  GraphBuilding,
  GraphJob,
} from '../../node/index/vector/building/graph-job.ts'
import { openVectorFamily } from '../../node/index/vector/hosted/vector-family.ts'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const BATCH_DOCUMENTS = 200
const MEMORY_BYTES = 512 * 2 ** 20
const SETTINGS = {
  external: true,
  sparse: false,
  dimension: DIMENSION,
  metric: 'cosine',
  engine: 'usearch',
  quantization: 'f16',
}

/** What a search is asked for besides its vector. */
export interface AskedNearest {
  readonly limit: number
  readonly effort: number
  readonly filter?: OrdinalSet
}

export class QuarryVectors implements Disposable {
  readonly #engine: IndexEngine
  readonly #builder = new CountingBuilder()
  #sequence = 0
  /** Milliseconds of the longest step of writing so far. */
  longestStepMs = 0

  /** Opens what the directory has. */
  constructor(directory: string) {
    const family = openVectorFamily(
      { clock: systemClock, memoryBytesMax: MEMORY_BYTES },
      { builder: this.#builder },
    )
    const definition = {
      id: '0123456789abcdef',
      kind: 'vectors',
      name: 'bench',
      memOnly: false,
      settings: SETTINGS,
    }
    const source = { kind: 'given', schema: undefined } as const
    const opened = runAtOnce(family.open({ definition, directory, source, fields: [] }))
    if (opened.kind === 'outdated') throw new Error(opened.outdated.reason)
    this.#engine = opened.engine
    this.#sequence = this.#engine.checkpoint
  }

  /** Writes documents from a number on; the artifacts are made in the same time. */
  async write(source: VectorSource, numbers: readonly number[]): Promise<void> {
    for (let from = 0; from < numbers.length; from += BATCH_DOCUMENTS) {
      const changes = numbers.slice(from, from + BATCH_DOCUMENTS).map((number) => {
        const rows = [{ start: 0, end: 0, vector: source.vectorOf(number) }]
        const json = encodeArtifact({
          kind: 'dense',
          ordinal: number,
          sourceHash: undefined,
          dimension: DIMENSION,
          rows,
        })
        return { key: keyOf(number), json, expiresAtMs: 0, ordinal: number }
      })
      this.#sequence += 1
      this.#steps(this.#engine.apply(packBatch(this.#sequence, changes), () => undefined))
      this.#steps(maintenanceOf(this.#engine))
      // As between the messages of a worker: that a graph is done is one of them.
      await turn()
    }
  }

  /** Until everything is on disk and merged. */
  async settle(): Promise<void> {
    this.#steps(this.#engine.flush(this.#sequence))
    for (;;) {
      this.#steps(maintenanceOf(this.#engine))
      if (this.#builder.pending === undefined) return
      await this.#builder.pending
    }
  }

  /** The ordinals of the hits: the numbers of the documents. */
  nearest(vector: Float32Array, asked: AskedNearest): readonly number[] {
    const request = { vector, nowMs: 0, ...asked }
    const answer = runAtOnce(this.#engine.answer({ question: 'nearest', request }))
    const { ordinals } = Object(answer)
    return [...ordinals]
  }

  report() {
    return this.#engine.report()
  }

  [Symbol.dispose](): void {
    this.#engine.close()
  }

  #steps(work: Sliced<unknown>): void {
    for (let isDone = false; !isDone;) {
      const beganMs = systemClock.monotonicMs()
      isDone = work.next().done === true
      this.longestStepMs = Math.max(this.longestStepMs, systemClock.monotonicMs() - beganMs)
    }
  }
}

/** Knows whether a graph is being made. */
class CountingBuilder implements GraphBuilder {
  readonly #thread = new BuilderThread()
  pending: Promise<void> | undefined

  begin(job: GraphJob, onDone: () => void): GraphBuilding {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.pending = promise
    return this.#thread.begin(job, () => {
      this.pending = undefined
      onDone()
      resolve()
    })
  }
}

function* maintenanceOf(engine: IndexEngine): Sliced<void> {
  while (engine.maintain()) yield
}

function keyOf(number: number): Uint8Array {
  return Buffer.from(`document-${number}`)
}
