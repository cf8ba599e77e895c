// The engine of vectors behind the seam of index workers (host/index-engine.ts). Documents come as the
// artifacts that the shard keeps of them (node/embedding/artifact.ts).

import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { unpackBatch, type DocumentBatch, type DocumentChange } from '../../host/document-batch.ts'
import { dropReportOf, NO_DROPS, type DropReport } from '../../host/drop-report.ts'
import type {
  AskedQuestion,
  IndexEngine,
  IndexOpening,
  IndexReport,
  IndexSnapshot,
  OnDocument,
  TakenBatch,
} from '../../host/index-engine.ts'
import { parseDenseSettings } from '../dense-settings.ts'
import { VectorIndex, type VectorIndexLimits } from '../engine/vector-index.ts'
import type { GraphBuilder } from '../graph/graph-job.ts'
import { libraryOf } from '../graph/graph-libraries.ts'
import { runNearest } from '../search/run-nearest.ts'
import type { VectorMemory } from '../segment/row-vectors.ts'
import { isNearestRequest } from './vector-request-shape.ts'
import { vectorDocumentOf } from './vector-document.ts'

/** What the engines of a worker share. */
export interface VectorEngineParts {
  readonly memory: VectorMemory
  readonly builder: GraphBuilder
  readonly limits?: VectorIndexLimits
}

/** One index of vectors in its worker. */
export class VectorEngine implements IndexEngine {
  readonly #index: VectorIndex
  readonly #settings: DenseIndexSettings
  readonly #directory: string | undefined
  #dropped = 0

  private constructor(
    index: VectorIndex,
    { settings, directory }: { settings: DenseIndexSettings; directory: string | undefined },
  ) {
    this.#index = index
    this.#settings = settings
    this.#directory = directory
  }

  /**
   * CORRUPTION if something is missing or damaged; INVALID_ARGUMENT for a definition without settings;
   * UNAVAILABLE if the library of the settings is not installed.
   */
  static *open(
    { definition, directory }: IndexOpening,
    parts: VectorEngineParts & { readonly onWork: () => void },
  ): Sliced<VectorEngine> {
    const settings = parseDenseSettings(definition.settings)
    const library = libraryOf(settings.engine)
    const index = yield* VectorIndex.open({ directory, settings, library, ...parts })
    return new VectorEngine(index, { settings, directory })
  }

  get checkpoint(): number {
    return this.#index.checkpoint
  }

  get unflushedBytes(): number {
    return this.#index.unflushedBytes
  }

  /** Documents are added whole, each in one step. */
  get isAdding(): boolean {
    return false
  }

  /** Vectors have no fields. */
  *learn(): Sliced<void> {}

  /** No schema decides about vectors. */
  *setSchema(): Sliced<void> {}

  *apply(batch: DocumentBatch, onDocument: OnDocument): Sliced<TakenBatch> {
    let taken = 0
    for (const change of unpackBatch(batch)) {
      for (; this.#index.isFull; yield) this.#index.maintain()
      onDocument(taken)
      yield* this.#apply(change)
      taken += 1
      yield
    }
    onDocument(undefined)
    this.#index.setSequence(batch.sequence)
    return { taken, undecided: [] }
  }

  *flush(sequence: number): Sliced<void> {
    yield* this.#endFlush() // it began before
    this.#index.setSequence(sequence)
    this.#index.beginFlush()
    yield* this.#endFlush()
  }

  makeRoom(): void {
    this.#index.beginFlush()
    if (this.#index.isFlushing) this.#index.maintain()
  }

  maintain(): boolean {
    return this.#index.maintain()
  }

  /** INVALID_ARGUMENT for a vector of another dimension than the index has. */
  answer({ question, request }: AskedQuestion): Sliced<unknown> {
    if (question !== 'nearest') {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `an embeddings index does not answer "${question}"`,
      )
    }
    if (!isNearestRequest(request)) {
      throw new ServiceError('INVALID_ARGUMENT', 'this request for the nearest has another shape')
    }
    const { dimension } = this.#settings
    if (request.vector.length !== dimension) {
      const given = request.vector.length
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `the index has vectors of ${dimension} numbers: one of ${given} cannot be near to them`,
      )
    }
    return runNearest(this.#index, this.#settings, request)
  }

  report(): IndexReport {
    return { ...this.#index.stats(), dropped: this.#dropReport() }
  }

  snapshot(directory: string): IndexSnapshot {
    if (this.#directory === undefined) {
      throw new ServiceError('INVALID_ARGUMENT', 'an index in memory has no files')
    }
    this.#index.linkFiles(directory)
    const files = readdirSync(directory).map((name) => {
      return { name, bytes: statSync(path.join(directory, name)).size }
    })
    return { checkpoint: this.checkpoint, files }
  }

  close(): void {
    this.#index.close()
  }

  /** A document without a vector that fits is not in the index. */
  *#apply(change: DocumentChange): Sliced<void> {
    const read = yield* vectorDocumentOf(change, this.#settings)
    if (read.kind === 'document') this.#index.put(read.document)
    else this.#index.delete(change.key)
    if (read.kind === 'unfit') this.#dropped += 1
  }

  #dropReport(): DropReport {
    return dropReportOf({ ...NO_DROPS, badValues: this.#dropped }, [])
  }

  *#endFlush(): Sliced<void> {
    for (; this.#index.isFlushing; yield) this.#index.maintain()
  }
}
