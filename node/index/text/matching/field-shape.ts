// What the texts of a field say about a match in it. A word is a larger part of a short text than of a long one or of a
// long list; what few documents have is a detail of them; and the words of web addresses are in all of them. These
// figures are those of the whole table and exact, so that every shard and every replica weighs alike.

import { SHAPE_MAX } from '../engine-query.ts'
import type { FieldStatistics } from '../segment/segment.ts'

/** A field of eight words on average has the weight 1; one of 32 has half of it. */
const NEUTRAL_LENGTH = 8
const SHAPE_MIN = 0.25
/** How web addresses begin, in every analyzer that keeps whole words. */
export const LINK_TERMS: readonly string[] = ['http', 'https']
/** A field of which more than this share of documents has a web address is one of addresses. */
const LINK_SHARE = 0.5
const LINK_WEIGHT = 0.1

/** The figures of a field, and of the collection that it is weighed in. */
export interface FieldFigures extends FieldStatistics {
  /** The documents with the most frequent of `LINK_TERMS`. */
  readonly linkCount: number
  /** The documents with any text. */
  readonly textCount: number
}

export function shapeOf({ docCount, totalLength, linkCount, textCount }: FieldFigures): number {
  if (docCount === 0 || totalLength === 0) return 1
  if (linkCount > docCount * LINK_SHARE) return LINK_WEIGHT
  const brevity = Math.sqrt((NEUTRAL_LENGTH * docCount) / totalLength)
  const coverage = Math.sqrt(docCount / Math.max(docCount, textCount))
  return Math.min(SHAPE_MAX, Math.max(SHAPE_MIN, brevity)) * coverage
}
