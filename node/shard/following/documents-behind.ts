// How many documents an index lacks: the one place from which status, readiness, metrics, the warnings of answers
// and waits read whether an index is complete.
//
//   committed ──► store ──► made by a model ──► log ──► taken by the index
//       └────────────────────── behind ───────────────────┘
//
// Invariants:
//   DB1  While a search may miss a change that was committed before it began, or show what it replaced, `behind`
//        is above 0. It counts where the index takes documents, never where they are made or sent.
//   DB2  It is 0 when the index has taken everything. In between it may be too high: a document that is written
//        twice counts twice, and where nobody has counted, all documents that the shard ever had.

import { isEnriched, feedOf } from '../../index/kinds/index-kinds.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { unreachable } from '../../../lib/assert.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import { storedProgress } from '../format/enrichment-progress.ts'
import type { ChunkedIndex } from './chunked-indexes.ts'
import type { FollowerState } from './follower-state.ts'
import type { LogTally, TallyKind } from './log-tally.ts'
import type { ShardEnrichers } from './shard-enrichers.ts'

/** Documents that searches may lack, or show as they were. */
export interface DocumentsBehind {
  /** They are on their way. */
  readonly waiting: number
  /** No artifact could be made of them. */
  readonly parked: number
  /** The index leaves them out, because its worker hung or ended at them. */
  readonly setAside: number
}

export function totalBehind({ waiting, parked, setAside }: DocumentsBehind): number {
  return waiting + parked + setAside
}

/**
 * The part that searches find, from 0 to 1, and 1 only when nothing is on its way. `built`: how much of the
 * table has been walked.
 */
export function progressOf(
  { waiting }: DocumentsBehind,
  { built, documentsMax }: { readonly built: number; readonly documentsMax: number },
): number {
  if (waiting === 0) return built
  return Math.min(built, 1 - waiting / Math.max(waiting + 1, documentsMax))
}

/** What a shard knows of its documents without reading them. */
export interface CountedShard {
  readonly store: Pick<KvStore, 'get'>
  readonly tally: LogTally
  /** The shard has no more documents than this. */
  readonly documentsMax: number
}

/** Where an index is in the log, and what of the log concerns it. */
export interface TakenSoFar {
  readonly state: FollowerState
  readonly applied: number
  readonly tallied: TallyKind
}

/** The documents that the store has, or will have in a moment, and that the index has not taken. */
export function untakenBy(shard: CountedShard, { state, applied, tallied }: TakenSoFar): number {
  switch (state.kind) {
    case 'opening':
    case 'failed':
      return shard.documentsMax
    case 'building':
      return state.backfill.left(shard.documentsMax) + (shard.tally.behind(applied, tallied) ?? 0)
    case 'serving':
      return shard.tally.behind(applied, tallied) ?? shard.documentsMax
    default:
      return unreachable(state)
  }
}

/** The documents whose artifacts wait, as the shard has stored it: nobody makes them here at the moment. */
export function unmadeAsStored(shard: CountedShard, index: string): number {
  const progress = storedProgress(shard.store, index)
  if (progress === undefined || progress.spans.length > 0) return shard.documentsMax
  return shard.tally.behind(progress.sequence, 'written') ?? shard.documentsMax
}

/** A shard with the makers of its artifacts. */
export interface MakingShard extends CountedShard {
  readonly enrichers: ShardEnrichers
  /** The indexes whose chunks full-text indexes have, too. */
  readonly chunked: readonly ChunkedIndex[]
}

/** All that an index lacks. `taken`: as its follower tells it. */
export function behindOf(
  shard: MakingShard,
  index: IndexDefinition,
  taken: Pick<DocumentsBehind, 'waiting' | 'setAside'>,
): DocumentsBehind {
  const made = isEnriched(index) ? unmade(shard, index.id) : NOTHING
  const { waiting, parked } = made
  return {
    waiting: taken.waiting + waiting + textsUnmade(shard, index),
    parked,
    setAside: taken.setAside,
  }
}

const NOTHING = { waiting: 0, parked: 0 } as const

/** A full-text index has the texts of chunks, too, as soon as they are made. */
function textsUnmade(shard: MakingShard, { kind }: IndexDefinition): number {
  if (feedOf(kind) !== 'documents') return 0
  const waiting = shard.chunked.map(({ id }) => unmade(shard, id).waiting)
  return Math.max(0, ...waiting)
}

function unmade(shard: MakingShard, id: string): Pick<DocumentsBehind, 'waiting' | 'parked'> {
  const enricher = shard.enrichers.get(id)
  return enricher ?? { waiting: unmadeAsStored(shard, id), parked: 0 }
}
