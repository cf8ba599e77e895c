import type { SearchLimits } from '../../index/host/search-limits.ts'

/**
 * How far an index is: the version of the table's mapping, and the log entry up to which it shows everything
 * (index-versions.ts).
 */
export interface IndexPosition {
  readonly version: number
  readonly sequence: number
}

/** A position, and how many documents a search from there may lack that were committed by then. */
export interface ToldPosition extends IndexPosition {
  readonly behind: number
}

/** Who hears how many committed documents an answer may lack; not called for none. */
export interface BehindHearer {
  readonly onBehind?: ((documents: number) => void) | undefined
}

/** The limits of a search of a shard. */
export interface ShardSearchLimits extends SearchLimits, BehindHearer {}

/** The limits of a question for a position, and the log entry that the index should have read by then. */
export interface PositionLimits extends SearchLimits {
  readonly atLeast: number
}

/** As `PositionLimits`, and what is called when the index is about to be asked. */
export interface AskLimits extends PositionLimits {
  readonly onAsk?: (() => void) | undefined
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
