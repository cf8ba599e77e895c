import type { NearestHit } from '../../index/vector/vector-search.ts'
import type { FoundIn, RankedHit } from '../../query/fusion/fuse-lists.ts'

/** A hit of one list. */
export interface ListedHit extends RankedHit {
  /** Present if an index of vectors found it. */
  readonly nearest?: NearestHit
}

/** A document after the lists were fused. */
export interface MergedHit {
  readonly key: Uint8Array
  readonly score: number
  readonly found: readonly FoundIn<ListedHit>[]
}
