// The state that all levels of one aggregation share.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { AGGREGATION_BUCKETS_MAX } from '../../../query/aggregation-request.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { Poll } from '../poll.ts'
import type { FieldColumns, IndexColumn } from '../mapping/field-columns.ts'
import type { AggregationPartials } from './aggregation-partial.ts'
import type { DocSet, SegmentDocs } from './doc-set.ts'

/** One shard's index as an aggregation reads it. */
export interface AggregationSource {
  readonly columns: FieldColumns
  readonly poll: Poll
  readonly nowMs: number
  /**
   * Whether no other shard has documents of the table. If so, only the returned buckets are kept.
   */
  readonly isWhole: boolean
  /** Finds all documents that a query matches. Undefined finds every document. */
  readonly find: (query: Query | undefined) => Sliced<DocSet>
}

/** The context of one request. It counts the buckets of the result and refuses too many. */
export class AggregationContext {
  readonly source: AggregationSource
  #bucketsLeft = AGGREGATION_BUCKETS_MAX

  constructor(source: AggregationSource) {
    this.source = source
  }

  get poll(): Poll {
    return this.source.poll
  }

  /** The column of a field. Answers undefined, with a warning, if no document has the field. */
  column(name: string, needs: string, kinds?: readonly IndexColumn['kind'][]) {
    return this.source.columns.of(name, { purpose: 'aggregated', needs, kinds })
  }

  takeBucket(): void {
    this.#bucketsLeft -= 1
    if (this.#bucketsLeft < 0) throw tooManyBuckets()
  }
}

export function tooManyBuckets(): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `aggregations: a result may have at most ${AGGREGATION_BUCKETS_MAX} buckets; use wider intervals, ` +
      'a smaller size or a narrower query',
  )
}

/** Gathers the sub-aggregations of a bucket from the bucket's documents. */
export type GatherSub = (docs: DocSet) => Sliced<AggregationPartials>

/** Visits each document with the keys of its buckets. A document visits a key at most once. */
export type BucketWalk<Key> = (
  part: SegmentDocs,
  visit: (key: Key, doc: number) => void,
) => Sliced<void>
