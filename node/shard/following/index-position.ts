import type { SearchLimits } from '../../index/host/index-client.ts'

/**
 * How far an index is: the version of the table's mapping, and the log entry up to which it shows everything
 * (index-versions.ts).
 */
export interface IndexPosition {
  readonly version: number
  readonly sequence: number
}

/** The limits of a question for a position, and the log entry that the index should have read by then. */
export interface PositionLimits extends SearchLimits {
  readonly atLeast: number
}

/** The limits of a search that an index answers from this position on. */
export interface SearchFromLimits extends SearchLimits {
  readonly from: IndexPosition
}

/** An answer that shows everything up to its position, and nothing beyond the entry `shownThrough`. */
export interface PlacedAnswer<Answer> {
  readonly answer: Answer
  readonly shownThrough: number
}
