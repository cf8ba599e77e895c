// The engine of vectors behind the seam of index workers (host/index-engine.ts). Documents come as the
// artifacts that the shard keeps of them (node/embedding/artifact.ts).

import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { unpackBatch, type DocumentBatch, type DocumentChange } from '../../host/document-batch.ts'
import { dropReportOf, NO_DROPS, type DropReport } from '../../host/drop-report.ts'
import type {
  AskedQuestion,
  IndexEngine,
  IndexReport,
  IndexSnapshot,
  OnDocument,
  TakenBatch,
} from '../../host/index-engine.ts'
import type { RowsDocument } from '../engine/rows-tail.ts'
import type { VectorIndex } from '../engine/vector-index.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import type { SealedRows } from '../segment/sealed-rows.ts'
import type { ReadChange } from './vector-document.ts'

/** What an engine is for vectors of one format. */
export interface VectorFormat<Document extends RowsDocument> {
  /** Undefined: in memory only. */
  readonly directory: string | undefined
  /** Reads what the log brings of a document. */
  documentOf(change: DocumentChange): Sliced<ReadChange<Document>>
  /** INVALID_ARGUMENT for a request that cannot be compared with the vectors of the index. */
  nearest(request: unknown): Sliced<unknown>
}

/** One index of vectors in its worker. */
export class VectorEngine<
  Document extends RowsDocument,
  Rows extends DocumentRows,
  Segment extends Rows & SealedRows,
> implements IndexEngine {
  readonly #index: VectorIndex<Document, Rows, Segment>
  readonly #format: VectorFormat<Document>
  #dropped = 0

  constructor(index: VectorIndex<Document, Rows, Segment>, format: VectorFormat<Document>) {
    this.#index = index
    this.#format = format
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

  *apply(batch: DocumentBatch, onDocument: OnDocument): Paced<TakenBatch> {
    let taken = 0
    for (const change of unpackBatch(batch)) {
      for (; this.#index.isFull; yield this.#index.flushWaitsFor) this.#index.maintain()
      onDocument(taken)
      yield* this.#apply(change)
      taken += 1
      yield
    }
    onDocument(undefined)
    this.#index.setSequence(batch.sequence)
    return { taken, undecided: [] }
  }

  *flush(sequence: number): Paced<void> {
    yield* this.#endFlush() // it began before
    this.#index.setSequence(sequence)
    this.#index.beginFlush()
    yield* this.#endFlush()
    this.#index.assertOpen()
  }

  makeRoom(): Promise<void> | undefined {
    this.#index.beginFlush()
    if (this.#index.isFlushing) this.#index.maintain()
    return this.#index.flushWaitsFor
  }

  maintain(): boolean {
    return this.#index.maintain()
  }

  answer({ question, request }: AskedQuestion): Sliced<unknown> {
    if (question === 'nearest') return this.#format.nearest(request)
    const problem = `an embeddings index does not answer "${question}"`
    throw new ServiceError('INVALID_ARGUMENT', problem)
  }

  report(): IndexReport {
    return { ...this.#index.stats(), dropped: this.#dropReport() }
  }

  snapshot(directory: string): IndexSnapshot {
    if (this.#format.directory === undefined) {
      throw new ServiceError('INVALID_ARGUMENT', 'an index in memory has no files')
    }
    const checkpoint = this.#index.linkFiles(directory)
    const files = readdirSync(directory).map((name) => {
      return { name, bytes: statSync(path.join(directory, name)).size }
    })
    return { checkpoint, files }
  }

  close(): void {
    this.#index.close()
  }

  /** A document without a vector that fits is not in the index. */
  *#apply(change: DocumentChange): Sliced<void> {
    const read = yield* this.#format.documentOf(change)
    if (read.kind === 'document') this.#index.put(read.document)
    else this.#index.delete(change.key)
    if (read.kind === 'unfit') this.#dropped += 1
  }

  #dropReport(): DropReport {
    return dropReportOf({ ...NO_DROPS, badValues: this.#dropped }, [])
  }

  *#endFlush(): Paced<void> {
    for (; this.#index.isFlushing; yield this.#index.flushWaitsFor) this.#index.maintain()
  }
}
