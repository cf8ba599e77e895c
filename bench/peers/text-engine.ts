import type { TextQuery } from '../data/query-classes.ts'

/** The part of an answer that must be equal for all engines. Scores differ and are not part of it. */
export interface TextAnswer {
  readonly total: number
  /** The prices of the cheapest, or the counts of the largest categories; else empty. */
  readonly figures: readonly number[]
}

/**
 * A text engine over the articles of the benchmark. Contract:
 * - `load` makes articles [0, documents) searchable and finishes all work that would slow searches.
 * - `prepare` does the work that a client does once, such as preparing a statement. The function that
 *   it returns is measured, and it returns the hits that the query asks for.
 * - `answer` is not measured and may take any time.
 */
export interface TextEngine extends Disposable {
  load(documents: number): void
  prepare(query: TextQuery): () => unknown
  answer(query: TextQuery): TextAnswer
}

export const ENGINES = ['quarry', 'FTS5', 'MiniSearch'] as const
export type EngineName = (typeof ENGINES)[number]
