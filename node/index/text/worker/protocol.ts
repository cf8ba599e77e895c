// What the main thread and an index worker say to each other. A call carries an id and is answered
// once; besides, a worker announces an index that broke while nobody asked.

import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { TextIndexStats } from '../engine/text-index.ts'
import type { DropReport } from '../mapping/dropped-values.ts'
import type { TableField } from '../mapping/table-field.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../search/text-search.ts'
import type { DocumentBatch } from './document-batch.ts'
import type { PackedAnswer } from './packed-answer.ts'
import type { ProgressMemory } from './worker-progress.ts'
import type { WorkerReport } from './worker-report.ts'

/** Which schema decides about fields: the table's present one, or the one the index was built by. */
export type SchemaSource =
  { readonly kind: 'given'; readonly schema: TableSchema | undefined } | { readonly kind: 'stored' }

/** What a worker is started with. */
export interface TextWorkerSettings {
  /** Of what its indexes share; see TextMemory. */
  readonly memoryBytesMax: number
  /** Where the worker tells what it is doing. */
  readonly progress: ProgressMemory
}

export interface TextIndexPlace {
  /** Undefined: in memory only. */
  readonly directory: string | undefined
}

export interface OpenedTextIndex {
  /** The log entry up to which the index need not be fed again; 0 if it was never complete. */
  readonly checkpoint: number
  readonly documents: number
  /** If this is set, the index is not open: its fields go to the table's list, and it is reset. */
  readonly outdated: OutdatedTextIndex | undefined
}

/** An index that is not damaged, and cannot be used all the same. */
export interface OutdatedTextIndex {
  readonly reason: string
  readonly fields: readonly TableField[]
}

/** The fields of the table's list, from its beginning. */
interface KnownFields {
  readonly fields: readonly TableField[]
}

/**
 * Documents are applied in their order until one brings fields that the index has not learnt. Then
 * those are learnt, and the batch sent again without what was taken.
 */
export interface AppliedBatch extends Checkpoint {
  /** How many documents and deletions of the batch; all of them if no field is undecided. */
  readonly taken: number
  /** In the order in which the batch has them; perhaps not all. */
  readonly undecided: readonly TableField[]
}

export interface TextIndexReport extends TextIndexStats {
  readonly dropped: DropReport
}

interface Call<Request, Answer> {
  readonly request: Request
  readonly answer: Answer
}

/** `checkpoint` in an answer: what a crash right now would come back to. */
interface Checkpoint {
  readonly checkpoint: number
}

export interface TextWorkerCalls {
  readonly open: Call<
    TextIndexPlace & KnownFields & { readonly source: SchemaSource },
    OpenedTextIndex
  >
  /** Throws away what there is, whatever its state, and opens an empty index. */
  readonly reset: Call<
    TextIndexPlace & KnownFields & { readonly schema: TableSchema | undefined },
    undefined
  >
  /** What the table's list of fields has next; what the index knows already is passed over. */
  readonly learn: Call<KnownFields, undefined>
  /** For a schema that treats the fields known so far as before. */
  readonly setSchema: Call<{ readonly schema: TableSchema | undefined }, undefined>
  readonly apply: Call<{ readonly batch: DocumentBatch }, AppliedBatch>
  /** Makes everything applied durable, as of the log entry `sequence`. */
  readonly flush: Call<{ readonly sequence: number }, Checkpoint>
  readonly search: Call<
    { readonly search: TextSearchRequest; readonly stop: StopFlag },
    PackedAnswer
  >
  readonly statistics: Call<
    { readonly statistics: TextStatisticsRequest; readonly stop: StopFlag },
    TextStatistics
  >
  readonly highlight: Call<
    { readonly highlight: TextHighlightRequest; readonly stop: StopFlag },
    readonly (Highlights | undefined)[]
  >
  readonly stats: Call<undefined, TextIndexReport>
  /** Of the whole worker. The index does not matter. */
  readonly report: Call<undefined, WorkerReport>
  /** Without flushing. */
  readonly close: Call<undefined, undefined>
  /** Closes the index and removes its directory. */
  readonly destroy: Call<TextIndexPlace, undefined>
}

export type TextWorkerCallKind = keyof TextWorkerCalls
export type RequestOf<Kind extends TextWorkerCallKind> = TextWorkerCalls[Kind]['request']
export type AnswerOf<Kind extends TextWorkerCallKind> = TextWorkerCalls[Kind]['answer']

/** Shared with the worker, which looks at it while it searches. */
export type StopFlag = Int32Array<SharedArrayBuffer>
export const STOP_REASONS = { none: 0, cancelled: 1, deadline: 2 } as const

export type ToTextWorker = {
  readonly [Kind in TextWorkerCallKind]: {
    readonly id: number
    readonly index: number
    readonly kind: Kind
    readonly request: RequestOf<Kind>
  }
}[TextWorkerCallKind]

/** What is about one index. */
export type ToTextIndex = Exclude<ToTextWorker, { readonly kind: 'report' }>

export interface SentError {
  readonly code: ErrorCode
  readonly message: string
}

export type FromTextWorker<Answer> =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'broken'; readonly index: number; readonly error: SentError }

/** The worker ended while it did this call: perhaps because of it. */
export class WorkerLostError extends ServiceError {
  /** Of a batch: the number of the document that was under way; undefined between documents. */
  readonly document: number | undefined

  constructor(message: string, document: number | undefined) {
    super('UNAVAILABLE', message)
    this.document = document
  }
}

export function receivedError({ code, message }: SentError): ServiceError {
  return new ServiceError(code, message)
}

export function stoppedError(reason: number): ServiceError {
  return reason === STOP_REASONS.deadline
    ? new ServiceError('DEADLINE_EXCEEDED', 'the search took longer than it may; narrow it down')
    : new ServiceError('CANCELLED', 'the search was cancelled')
}
