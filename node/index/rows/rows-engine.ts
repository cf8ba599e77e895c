// The engine of an index whose documents have rows. They come as the artifacts that the shard keeps of them
// (node/embedding/artifact.ts).

import { ServiceError } from '../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import { unpackBatch, type DocumentBatch, type DocumentChange } from '../host/document-batch.ts'
import { dropReportOf, NO_DROPS } from '../host/drop-report.ts'
import type { AskedQuestion, IndexReport, OnDocument, TakenBatch } from '../host/index-engine.ts'
import {
  SegmentedEngine,
  type DrivenIndex,
  type EngineDirectory,
} from '../segments/segmented-engine.ts'
import type { RowsDocument } from './rows-tail.ts'

/** What a change means for an index. */
export type ReadChange<Document> =
  | { readonly kind: 'document'; readonly document: Document }
  /** Deleted, or without a vector. */
  | { readonly kind: 'none' }
  /** Its vectors cannot be compared with those of the index. */
  | { readonly kind: 'unfit' }

/** What an engine is for vectors of one format. */
export interface RowsEngineFormat<Document extends RowsDocument> extends EngineDirectory {
  /** Reads what the log brings of a document. */
  documentOf(change: DocumentChange): Sliced<ReadChange<Document>>
  /** INVALID_ARGUMENT for a request that cannot be compared with the vectors of the index. */
  nearest(request: unknown): Sliced<unknown>
}

/** What the engine asks of its index besides. */
export interface PutIndex<Document extends RowsDocument> extends DrivenIndex {
  put(document: Document): void
  delete(key: Uint8Array): void
  stats(): Omit<IndexReport, 'dropped'>
}

/** One index of vectors in its worker. */
export class RowsEngine<Document extends RowsDocument> extends SegmentedEngine<PutIndex<Document>> {
  readonly #format: RowsEngineFormat<Document>
  #dropped = 0

  constructor(index: PutIndex<Document>, format: RowsEngineFormat<Document>) {
    super(index, format)
    this.#format = format
  }

  /** Vectors have no fields. */
  *learn(): Sliced<void> {}

  /** No schema decides about vectors. */
  *setSchema(): Sliced<void> {}

  *apply(batch: DocumentBatch, onDocument: OnDocument): Paced<TakenBatch> {
    let taken = 0
    for (const change of unpackBatch(batch)) {
      yield* this.waitForRoom()
      onDocument(taken)
      yield* this.#apply(change)
      taken += 1
      yield
    }
    onDocument(undefined)
    this.index.setSequence(batch.sequence)
    return { taken, undecided: [] }
  }

  answer({ question, request }: AskedQuestion): Sliced<unknown> {
    if (question === 'nearest') return this.#format.nearest(request)
    const problem = `an embeddings index does not answer "${question}"`
    throw new ServiceError('INVALID_ARGUMENT', problem)
  }

  report(): IndexReport {
    const { documents, bytesOnDisk, bytesInMemory } = this.index.stats()
    const dropped = dropReportOf({ ...NO_DROPS, badValues: this.#dropped }, [])
    return { documents, bytesOnDisk, bytesInMemory, dropped }
  }

  /** A document without a vector that fits is not in the index. */
  *#apply(change: DocumentChange): Sliced<void> {
    const read = yield* this.#format.documentOf(change)
    if (read.kind === 'document') this.index.put(read.document)
    else this.index.delete(change.key)
    if (read.kind === 'unfit') this.#dropped += 1
  }
}
