// The seam between an index worker and the engines in it. The host (worker/index-host.ts) calls, an engine of a
// kind (text, vectors, ...) answers; neither knows the other's insides.

import type { Clock } from '../../../lib/clock.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { AnsweringFlag } from './answering-flag.ts'
import type { DiskWork } from '../files/disk-work.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { DocumentBatch } from './document-batch.ts'
import type { DropReport } from './drop-report.ts'
import type { IndexDefinition } from './index-definition.ts'
import type { CacheReport } from './worker-report.ts'

/** What may be asked of an index. Each kind of index answers some of these, with requests of its own. */
export const QUESTIONS = [
  'search',
  'select',
  'statistics',
  'highlight',
  'suggest',
  'nearest',
] as const
export type Question = (typeof QUESTIONS)[number]

/** The request is the kind's own: the host and the shard pass it on unread. */
export interface AskedQuestion {
  readonly question: Question
  readonly request: unknown
}

/** Which schema decides about fields: the table's present one, or the one the index was built by. */
export type SchemaSource =
  { readonly kind: 'given'; readonly schema: TableSchema | undefined } | { readonly kind: 'stored' }

/** Which index an engine opens, and what its table says at that moment. */
export interface IndexOpening {
  readonly definition: IndexDefinition
  /** Undefined: in memory only. */
  readonly directory: string | undefined
  readonly source: SchemaSource
  /** The table's list of the fields that no schema spells out, from its beginning. */
  readonly fields: readonly TableField[]
}

/** An undamaged index that has to be built again all the same. */
export interface OutdatedIndex {
  readonly reason: string
  /** What it knew of the table's fields, so that the next one decides about them alike. */
  readonly fields: readonly TableField[]
}

export type EngineOpening =
  | { readonly kind: 'open'; readonly engine: IndexEngine }
  | { readonly kind: 'outdated'; readonly outdated: OutdatedIndex }

/** How far an engine came with a batch. */
export interface TakenBatch {
  /** How many documents and deletions, in their order; all of them if no field is undecided. */
  readonly taken: number
  /** Fields that the next document brings and that the engine has not learnt; perhaps not all. */
  readonly undecided: readonly TableField[]
}

/** The number of a document in its batch; undefined for what is not about one. */
export type OnDocument = (number: number | undefined) => void

/** What an engine tells of its index for status and metrics. */
export interface IndexReport {
  readonly documents: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
  /** Values that the index left out, since it was opened. */
  readonly dropped: DropReport
}

/** An answer of which another thread may find a part. */
export type DividedAnswer =
  | { readonly kind: 'whole'; readonly answer: unknown }
  | {
      readonly kind: 'divided'
      /**
       * The answer of what this thread alone has. Undefined if it has nothing alone: then `sealed` does for
       * every question that this kind divides, until something is applied or learnt.
       */
      readonly part: unknown
      /** For a `SealedReader` of the same index in another thread: plain data. */
      readonly sealed: unknown
      /** What that reader then knows of the index: plain data, for the next `divide`. */
      readonly known: unknown
      /** Ends what keeps the sealed part readable. It may be called more than once. */
      release(): void
    }

/** The files of a checkpoint, linked into a directory. */
export interface IndexSnapshot {
  readonly checkpoint: number
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

/**
 * One index of one shard, in its worker.
 *
 * Contract, checked for every engine by test/conformance/index-engine.ts:
 * - Whatever takes longer than a millisecond is a generator that pauses. Between any two steps of one method
 *   the host may run whole questions, and steps of others. Of `setSchema`, `apply` and `flush` one
 *   runs at a time.
 * - No step waits for the disk to sync: `open`, `setSchema`, `apply` and `flush` yield a promise instead, and
 *   `maintain` answers false until `OnWork` is called.
 * - `apply` takes documents in their order. A question sees each as it was before or as it is afterwards. A
 *   batch that is applied again changes nothing. `onDocument` hears which document is worked on.
 * - A batch with undecided fields is taken up to the first document that has them; the host has the
 *   fields learnt and sends the rest again.
 * - `checkpoint` is the sequence that a crash at this moment comes back to: all that was applied up to it is
 *   durable, with the fields that it needs. It never decreases. `flush` makes it the sequence given.
 *   Without a directory it means nothing.
 * - A deleted or replaced document is not found, whatever has been flushed or merged since.
 * - `answer` sees the index as it is at its first step. It releases its files and memory when its
 *   generator is left early. It throws INVALID_ARGUMENT for a question that the kind does not answer. The
 *   answer is plain data that a structured clone keeps. A receiver reads a whole message in one step, so
 *   an answer that takes longer than a millisecond to read is packed as bytes; the caller unpacks it.
 * - `snapshot` links or copies the files of `checkpoint` into a directory that exists and is empty. The
 *   directory then opens as the index was at that checkpoint.
 * - A damaged or missing file is CORRUPTION, whether the engine meets it at the opening or later.
 * - `divide`, if the engine has it, answers a question as `answer` does, or divides it: the answers of the
 *   part and of the reader, joined as the kind says, are the undivided answer at its first step, whatever is
 *   applied, flushed or merged until `release`. `known` is what a reader was sent last; undefined for a reader
 *   that knows nothing.
 * - `close` writes nothing; what was not flushed is applied again after the next opening. A flush that it meets ends
 *   with UNAVAILABLE.
 */
export interface IndexEngine {
  readonly checkpoint: number
  /** Bytes of memory that a flush would give back. */
  readonly unflushedBytes: number
  /** A document is half applied: a flush would wait for its end. */
  readonly isAdding: boolean

  learn(fields: readonly TableField[]): Sliced<void>
  /** For a schema that treats the fields known so far as before. */
  setSchema(schema: TableSchema | undefined): Paced<void>
  apply(batch: DocumentBatch, onDocument: OnDocument): Paced<TakenBatch>
  flush(sequence: number): Paced<void>
  /** Begins a flush if none is under way, and carries out a step of it. Answers what the flush waits for, if it does. */
  makeRoom(): Promise<void> | undefined
  /** One step of a flush or a merge; false when there is nothing left to do, or not until `OnWork` is called. */
  maintain(): boolean
  answer(asked: AskedQuestion): Sliced<unknown>
  divide?(asked: AskedQuestion, known: unknown): Sliced<DividedAnswer>
  report(): IndexReport
  snapshot(directory: string): IndexSnapshot
  close(): void
}

/**
 * Answers sealed parts of one index's questions, in a worker that does not write the index.
 *
 * Contract, checked with the engines:
 * - Parts may come in another order than they were divided in, and answers may run beside each other.
 * - UNAVAILABLE for a part that builds on another one that did not come, or comes too late; CORRUPTION for a
 *   damaged file. The index can answer the question all the same.
 */
export interface SealedReader {
  answer(asked: AskedQuestion, sealed: unknown): Sliced<unknown>
  close(): void
}

/**
 * Joins what several indexes of one kind answer to one question.
 *
 * Contract, checked with the engines:
 * - The joined answers of some indexes, and the answers of others, give the caller what all of their answers give it.
 * - It holds no more than the largest of the answers and a bounded number of others, as far as the kind can.
 */
export interface AnswerJoin {
  /** For the next index. It may leave out what cannot be in the joined answer. */
  readonly request: unknown
  /** An index has answered `request`. */
  add(answer: unknown): Sliced<void>
  /** The joined answer of those that were added: at least one. */
  answer(): Sliced<unknown>
}

/** Called by an engine whose `maintain` answered false, when there is more to do: another thread, or the disk, is done. */
export type OnWork = () => void

/** The engines of one kind in one worker, and what they share. */
export interface EngineFamily {
  /** The bound of all its engines together. Beyond it the host lets the largest make room. */
  readonly unflushedBytesMax: number
  /**
   * Opens what the directory holds, or an empty index. CORRUPTION for what is damaged; an index that was
   * built by an earlier version of the product, or by other fields, is `outdated`.
   */
  open(opening: IndexOpening, onWork?: OnWork): Paced<EngineOpening>
  /** Present for a kind whose engines divide answers. */
  openReader?(): SealedReader
  /** Present for a kind of which several indexes are asked together (`IndexKind.joined`). */
  join?(asked: AskedQuestion): AnswerJoin
  /** By name, what its caches hold. */
  caches(): CacheReport
}

/** What a worker gives the engines of one kind. */
export interface FamilyParts {
  readonly clock: Clock
  /** The bound of the memory that the engines share. */
  readonly memoryBytesMax: number
  /** What syncs and closes their files. */
  readonly disk: DiskWork
  /** Set while the worker answers a question: other threads of the engines give way then. Default: never set. */
  readonly answering?: AnsweringFlag
}

/** What a worker can host, by kind. A family is made when the first index of its kind is opened. */
export type EngineFamilies = Readonly<Record<string, (parts: FamilyParts) => EngineFamily>>
