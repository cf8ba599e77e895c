// What the main thread and an index worker say to each other. A call carries an id and is answered
// once; besides, a worker announces an index that broke while nobody asked.

import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { TextIndexStats } from '../engine/text-index.ts'
import type {
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../search/text-search.ts'
import type { DocumentBatch } from './document-batch.ts'

/** Which schema decides about fields: the table's present one, or the one the index was built by. */
export type SchemaSource =
  { readonly kind: 'given'; readonly schema: TableSchema | undefined } | { readonly kind: 'stored' }

/** What a worker is started with. */
export interface TextWorkerSettings {
  /** Of what its indexes share; see TextMemory. */
  readonly memoryBytesMax: number
}

export interface TextIndexPlace {
  /** Undefined: in memory only. */
  readonly directory: string | undefined
}

export interface OpenedTextIndex {
  /** The log entry up to which the index need not be fed again; 0 if it was never complete. */
  readonly checkpoint: number
  readonly documents: number
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
  readonly open: Call<TextIndexPlace & { readonly source: SchemaSource }, OpenedTextIndex>
  /** Throws away what there is, whatever its state, and opens an empty index. */
  readonly reset: Call<TextIndexPlace & { readonly schema: TableSchema | undefined }, undefined>
  /** For a schema that treats the fields known so far as before. */
  readonly setSchema: Call<{ readonly schema: TableSchema | undefined }, undefined>
  readonly apply: Call<{ readonly batch: DocumentBatch }, Checkpoint>
  /** Makes everything applied durable, as of the log entry `sequence`. */
  readonly flush: Call<{ readonly sequence: number }, Checkpoint>
  readonly search: Call<
    { readonly search: TextSearchRequest; readonly stop: StopFlag },
    TextSearchAnswer
  >
  readonly statistics: Call<{ readonly statistics: TextStatisticsRequest }, TextStatistics>
  readonly stats: Call<undefined, TextIndexStats>
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

export interface SentError {
  readonly code: ErrorCode
  readonly message: string
}

export type FromTextWorker<Answer> =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'broken'; readonly index: number; readonly error: SentError }

export function receivedError({ code, message }: SentError): ServiceError {
  return new ServiceError(code, message)
}

export function stoppedError(reason: number): ServiceError {
  return reason === STOP_REASONS.deadline
    ? new ServiceError('DEADLINE_EXCEEDED', 'the search took longer than it may; narrow it down')
    : new ServiceError('CANCELLED', 'the search was cancelled')
}
