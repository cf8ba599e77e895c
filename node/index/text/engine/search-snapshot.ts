import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery } from '../engine-query.ts'
import {
  collect,
  search,
  type MatchVisitor,
  type SearchRequest,
  type SearchResult,
} from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import { select, type Selection } from '../matching/select.ts'
import { matchingTerms, type FieldExpansion } from '../matching/set-query.ts'
import { gatherQueryStatistics, type TermStatistics } from '../matching/statistics.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import { Poll } from '../poll.ts'

/**
 * An index at one moment. Contract:
 * - Whatever is applied, flushed or merged later, every answer is that of the moment; also after
 *   the index is closed.
 * - Files and memory stay held until `release`, which may be called more than once; nothing may be
 *   asked afterwards.
 */
export class SearchSnapshot {
  readonly segments: readonly LiveSegment[]
  readonly #onRelease: () => void
  #isReleased = false

  constructor(segments: readonly LiveSegment[], onRelease: () => void) {
    this.segments = segments
    this.#onRelease = onRelease
  }

  search(request: SearchRequest): Sliced<SearchResult> {
    return search(this.segments, request)
  }

  /** Whether a document, perhaps a deleted one, has the field. */
  hasField(name: string): boolean {
    return this.segments.some(({ segment }) => segment.field(name) !== undefined)
  }

  /** Every match, segment by segment; columns are in `live.segment.field(name).column`. */
  collect(request: MatchRequest, visit: MatchVisitor): Sliced<void> {
    return collect(this.segments, request, visit)
  }

  /** The ordinals of every match; see `Selection`. */
  select(request: MatchRequest): Sliced<Selection> {
    return select(this.segments, request)
  }

  /**
   * Names the documents that can be found at this time: equal for two snapshots of one thread only if they
   * can find the same.
   */
  versionAt(nowMs: number): string {
    return this.segments.map((live) => live.versionAt(nowMs)).join()
  }

  /** The terms of a field that match, in all segments. Refuses more than the expansion allows. */
  matchingTerms(expansion: FieldExpansion): Sliced<ReadonlySet<string>> {
    const segments = this.segments.map(({ segment }) => segment)
    return matchingTerms(segments, expansion, new Poll())
  }

  /** What the scores of a query depend on. */
  queryStatistics(query: EngineQuery): Sliced<TermStatistics> {
    return gatherQueryStatistics(this.segments, query, new Poll())
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#onRelease()
  }
}
