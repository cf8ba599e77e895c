import type { Sliced } from '../../../lib/sliced.ts'
import type { Question } from './index-engine.ts'

/** A question that came from another node, whose request may be anything. */
export interface ForeignQuestion {
  readonly question: string
  readonly request: unknown
}

/** A kind of index as the main thread knows it; its engine runs in workers (index-engine.ts). */
export interface IndexKind {
  /** What the API calls it. */
  readonly type: string
  /** The caches that its engines report. */
  readonly cacheNames: readonly string[]
  /**
   * What makes two requests the same one, as plain data: a request at which workers ended twice is refused.
   * Undefined for a question that is never refused.
   */
  identityOf(question: Question, request: unknown): readonly unknown[] | undefined
  /** The questions that one message asks of several indexes (`EngineFamily.join`). */
  readonly joined: ReadonlySet<Question>
  /** Present for a kind whose engines divide answers (`IndexEngine.divide`). */
  readonly division?: IndexDivision
}

/** Which questions are divided among threads. */
export interface IndexDivision {
  readonly questions: ReadonlySet<Question>
  /** Makes the answers of all parts to one request what the undivided answer would be. */
  join(request: unknown, parts: readonly unknown[]): Sliced<unknown>
}

export type IndexKinds = Readonly<Record<string, IndexKind>>
