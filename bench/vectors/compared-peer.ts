// One other library against our engine.

import { must } from '../../lib/assert.ts'
import type { Finding } from '../report/finding.ts'
import type { VectorPeer } from './peers.ts'
import { LIMIT, RECALL_MIN, ratesOf, type Search, type SearchJudge } from './search-judge.ts'
import type { VectorSource } from './vector-source.ts'

/** Finer than needed, so that no side is wider than it must be. */
const WIDTH_MAX = 1024
const WIDTHS = [16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 512, WIDTH_MAX]
const PART = 5000

/** A search that looks at so many candidates. */
type SearchBy = (width: number) => Search

/** What both sides answer the same questions with. */
export interface Comparison {
  readonly source: VectorSource
  readonly judge: SearchJudge
  /** Our search by its width, and the rate of our ingest. */
  readonly ours: { readonly searchBy: SearchBy; readonly ingest: readonly number[] }
}

export function comparePeer(
  peer: VectorPeer,
  { source, judge, ours }: Comparison,
): { readonly findings: readonly Finding[]; readonly notes: readonly string[] } {
  const ingestMs = ingest(peer, source, judge)
  const points = new Map(source.queries.map((query) => [query, peer.pointOf(query)]))
  const peerBy: SearchBy = (width) => (query) =>
    peer.nearest(must(points.get(query), 'a point for each query'), { limit: LIMIT, width })
  const widthOf = (searchBy: SearchBy): number =>
    WIDTHS.find((width) => judge.recall(searchBy(width)) >= RECALL_MIN) ?? WIDTH_MAX
  const widths = { ours: widthOf(ours.searchBy), peer: widthOf(peerBy) }
  const searches = judge.turns(ours.searchBy(widths.ours), peerBy(widths.peer))
  const peerName = peer.name
  return {
    findings: [
      {
        kind: 'ratio',
        label: `top ${LIMIT} at recall ≥ ${RECALL_MIN}`,
        unit: 'queries/s',
        peerName,
        ours: ratesOf(searches.ours),
        peer: ratesOf(searches.peer),
        goal: { kind: 'at-least', value: 1 },
      },
      {
        kind: 'ratio',
        label: `ingest of ${source.count} given vectors, durable, flushed and merged`,
        unit: 'vectors/s',
        peerName,
        ours: ours.ingest,
        peer: [(source.count / ingestMs) * 1000],
        goal: { kind: 'at-least', value: 1 },
      },
    ],
    notes: [
      `${peerName}: a width of ${widths.peer}, recall@${LIMIT} ${judge.recall(peerBy(widths.peer)).toFixed(4)}; ` +
        `ours: ${widths.ours}, ${judge.recall(ours.searchBy(widths.ours)).toFixed(4)}`,
    ],
  }
}

/** The milliseconds of the library alone; what makes its arguments does not count. */
function ingest(peer: VectorPeer, source: VectorSource, judge: SearchJudge): number {
  let ms = 0
  for (let from = 0; from < source.count; from += PART) {
    const length = Math.min(PART, source.count - from)
    const write = peer.prepare(
      source,
      Array.from({ length }, (_, i) => from + i),
    )
    ms += judge.timeOf(write)
  }
  return ms
}
