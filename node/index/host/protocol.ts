// What the main thread and an index worker say to each other. A call carries a number and is answered
// once; besides, a worker announces an index that broke while nobody asked.

import { ServiceError } from '../../../lib/errors.ts'
import type { SentError } from '../../../lib/worker-calls.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { DocumentBatch } from './document-batch.ts'
import type {
  AskedQuestion,
  DividedAnswer,
  IndexOpening,
  IndexReport,
  IndexSnapshot,
  OutdatedIndex,
  Question,
  TakenBatch,
} from './index-engine.ts'
import type { ProgressMemory } from './worker-progress.ts'
import type { WorkerReport } from './worker-report.ts'

/** What a worker is started with. */
export interface IndexWorkerSettings {
  /** The bound of the memory that its indexes share. */
  readonly memoryBytesMax: number
  /** Where the worker tells what it is doing. */
  readonly progress: ProgressMemory
}

/** What a worker found when it opened an index. */
export interface OpenedIndex extends Checkpoint {
  readonly documents: number
  /** If this is set, the index is not open: its fields go to the table's list, and it is reset. */
  readonly outdated: OutdatedIndex | undefined
}

/** How far a batch came, and the checkpoint after it. */
export interface AppliedBatch extends Checkpoint, TakenBatch {}

/** The sequence that a crash at this moment would return to; 0 if the index was never complete. */
interface Checkpoint {
  readonly checkpoint: number
}

interface Call<Request, Answer> {
  readonly request: Request
  readonly answer: Answer
}

/** `answer` has the type that the kind of the index gives it, and may be packed. */
type QuestionCalls = Readonly<
  Record<Question, Call<{ readonly request: unknown; readonly stop: StopFlag }, unknown>>
>

/** A division as a message: instead of being called, `release` is told with the number of the hold. */
export type DividedCallAnswer =
  | Extract<DividedAnswer, { readonly kind: 'whole' }>
  | (Omit<Extract<DividedAnswer, { readonly kind: 'divided' }>, 'release'> & {
      readonly hold: number
    })

/** The joined answer of several indexes, which has the type that their kind gives it, and the indexes that refused. */
export interface JoinedAnswer<Answer = unknown> {
  /** Undefined if all refused. */
  readonly answer: Answer | undefined
  readonly refused: readonly { readonly index: number; readonly error: SentError }[]
}

/** By kind of call, what is sent and what is answered. */
export interface IndexWorkerCalls extends QuestionCalls {
  /** Asks the index's own worker for its part; the hold is to be released. */
  readonly divide: Call<
    { readonly asked: AskedQuestion; readonly known: unknown; readonly stop: StopFlag },
    DividedCallAnswer
  >
  /** Asks another worker for the sealed part; `kind` is the kind of the index. */
  readonly answerSealed: Call<
    {
      readonly kind: string
      readonly asked: AskedQuestion
      /** The hold of the division. */
      readonly hold: number
      /** Absent for the division that the worker was asked about last. */
      readonly part: { readonly sealed: unknown } | undefined
      readonly stop: StopFlag
    },
    unknown
  >
  /** Asks several indexes of one kind, which the call names besides the first of them, and joins what they answer. */
  readonly together: Call<
    {
      readonly kind: string
      readonly indexes: readonly number[]
      readonly asked: AskedQuestion
      readonly stop: StopFlag
    },
    JoinedAnswer
  >
  readonly open: Call<IndexOpening, OpenedIndex>
  /** Removes the files of the index, damaged or not, and opens an empty index. */
  readonly reset: Call<
    Omit<IndexOpening, 'source'> & { readonly schema: TableSchema | undefined },
    undefined
  >
  /** The next fields of the table's list. The index ignores those that it knows. */
  readonly learn: Call<{ readonly fields: readonly TableField[] }, undefined>
  /** For a schema that treats the fields known so far as before. */
  readonly setSchema: Call<{ readonly schema: TableSchema | undefined }, undefined>
  readonly apply: Call<{ readonly batch: DocumentBatch }, AppliedBatch>
  /** Makes everything applied durable, as of the log entry `sequence`. */
  readonly flush: Call<{ readonly sequence: number }, Checkpoint>
  /** Links the files of the last checkpoint into a directory that exists and is empty. */
  readonly snapshot: Call<{ readonly directory: string }, IndexSnapshot>
  readonly stats: Call<undefined, IndexReport>
  /** Answers for the whole worker; the call names any of its indexes. */
  readonly report: Call<undefined, WorkerReport>
  /** Without flushing. */
  readonly close: Call<undefined, undefined>
  /** Closes the index and removes its directory. */
  readonly destroy: Call<Pick<IndexOpening, 'directory'>, undefined>
}

export type IndexWorkerCallKind = keyof IndexWorkerCalls
export type RequestOf<Kind extends IndexWorkerCallKind> = IndexWorkerCalls[Kind]['request']
export type AnswerOf<Kind extends IndexWorkerCallKind> = IndexWorkerCalls[Kind]['answer']

/** Shared with the worker, which looks at it while it searches. */
export type StopFlag = Int32Array<SharedArrayBuffer>
export const STOP_REASONS = { none: 0, cancelled: 1, deadline: 2 } as const

export type ToIndexWorker = {
  readonly [Kind in IndexWorkerCallKind]: {
    readonly id: number
    readonly index: number
    readonly kind: Kind
    readonly request: RequestOf<Kind>
  }
}[IndexWorkerCallKind]

/** What is about one index. */
export type ToIndex = Exclude<ToIndexWorker, { readonly kind: 'report' }>

/** What a worker is told and does not answer. */
export type ToldWorker =
  /** A division is over: its sealed part is read no more. */
  | { readonly kind: 'release'; readonly hold: number }
  /** The reader of an index of another worker is needed no more. */
  | { readonly kind: 'forget'; readonly index: number }

export type FromIndexWorker<Answer> =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'broken'; readonly index: number; readonly error: SentError }

/** The worker ended while it did this call: perhaps because of it. */
export class WorkerLostError extends ServiceError {
  /** The number of the document in its batch that was under way; undefined between documents. */
  readonly document: number | undefined

  constructor(message: string, document: number | undefined) {
    super('UNAVAILABLE', message)
    this.document = document
  }
}

export function stoppedError(reason: number): ServiceError {
  return reason === STOP_REASONS.deadline
    ? new ServiceError('DEADLINE_EXCEEDED', 'the search took longer than it may; narrow it down')
    : new ServiceError('CANCELLED', 'the search was cancelled')
}
