import type { TextQuery } from '../data/query-classes.ts'

/** What an engine answers, as far as engines can be held to the same: not scores, which differ. */
export interface TextAnswer {
  readonly total: number
  /** The prices of the cheapest, or the counts of the largest categories; else empty. */
  readonly figures: readonly number[]
}

/**
 * A text engine over the articles of the benchmark. Contract:
 * - `load` makes articles [0, documents) searchable, and leaves nothing undone that would make
 *   searches slower.
 * - `prepare` does what a client does once, such as preparing a statement; the function it returns is
 *   what is measured, and gives the hits that the query asks for.
 * - `answer` is free to take as long as it likes.
 */
export interface TextEngine extends Disposable {
  load(documents: number): void
  prepare(query: TextQuery): () => unknown
  answer(query: TextQuery): TextAnswer
}

export const ENGINES = ['quarry', 'FTS5', 'MiniSearch'] as const
export type EngineName = (typeof ENGINES)[number]
