// Our engine of vectors in this process, driven by its seam.

import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../lib/clock.ts'
import { runAtOnce, type Paced } from '../../lib/sliced.ts'
import { encodeArtifact } from '../../node/embedding/artifact.ts'
import { PooledDiskWork, type DiskWork } from '../../node/index/files/disk-work.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import type { IndexEngine } from '../../node/index/host/index-engine.ts'
import type { OrdinalSet } from '../../node/index/host/ordinal-set.ts'
import { BuilderThreads } from '../../node/index/vector/building/builder-thread.ts'
import type { GraphBuilder } from '../../node/index/vector/building/graph-job.ts'
import { openVectorFamily } from '../../node/index/vector/hosted/vector-family.ts'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const BATCH_DOCUMENTS = 200
/** A worker's, of two, by default on a machine of 16 GiB or more. */
const MEMORY_BYTES = 2 ** 30
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
  readonly #others: OtherThreads
  #sequence = 0
  /** Milliseconds of the longest step of writing so far. */
  longestStepMs = 0

  private constructor(engine: IndexEngine, others: OtherThreads) {
    this.#engine = engine
    this.#others = others
    this.#sequence = engine.checkpoint
  }

  /** Opens what the directory has. */
  static async open(directory: string, memoryBytesMax = MEMORY_BYTES): Promise<QuarryVectors> {
    const others = new OtherThreads()
    const { disk, builder } = others
    const parts = { clock: systemClock, memoryBytesMax, disk }
    const family = openVectorFamily(parts, { builder })
    const definition = {
      id: '0123456789abcdef',
      kind: 'vectors',
      name: 'bench',
      memOnly: false,
      settings: SETTINGS,
    }
    const source = { kind: 'given', schema: undefined } as const
    const opened = await ended(family.open({ definition, directory, source, fields: [] }))
    if (opened.kind === 'outdated') throw new Error(opened.outdated.reason)
    return new QuarryVectors(opened.engine, others)
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
      await this.#end(this.#engine.apply(packBatch(this.#sequence, changes), () => undefined))
      this.#maintain()
      // As between the messages of a worker: that a graph is done is one of them.
      await turn()
    }
  }

  /** Until everything is on disk and merged. */
  async settle(): Promise<void> {
    await this.#end(this.#engine.flush(this.#sequence))
    for (;;) {
      this.#maintain()
      if (this.#others.pending === 0) return
      await sleep(1)
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

  #end(work: Paced<unknown>): Promise<unknown> {
    return ended(work, (step) => this.#timed(step))
  }

  #maintain(): void {
    while (this.#timed(() => this.#engine.maintain()));
  }

  #timed<Result>(step: () => Result): Result {
    const beganMs = systemClock.monotonicMs()
    const result = step()
    this.longestStepMs = Math.max(this.longestStepMs, systemClock.monotonicMs() - beganMs)
    return result
  }
}

/** What syncs and makes graphs, and how much of that is under way. */
class OtherThreads {
  readonly #pool = new PooledDiskWork()
  readonly #thread = new BuilderThreads()
  pending = 0

  readonly disk: DiskWork = {
    sync: (fd, onSynced) => {
      this.pending += 1
      this.#pool.sync(fd, (error) => {
        this.pending -= 1
        onSynced(error)
      })
    },
    close: (fd) => this.#pool.close(fd),
  }

  readonly builder: GraphBuilder = {
    begin: (job, onDone) => {
      this.pending += 1
      return this.#thread.begin(job, () => {
        this.pending -= 1
        onDone()
      })
    },
  }
}

async function ended<Result>(
  work: Paced<Result>,
  timed: <Step>(step: () => Step) => Step = (step) => step(),
): Promise<Result> {
  for (;;) {
    const step = timed(() => work.next())
    if (step.done === true) return step.value
    if (step.value !== undefined) await step.value
  }
}

function keyOf(number: number): Uint8Array {
  return Buffer.from(`document-${number}`)
}
