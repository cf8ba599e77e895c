// What gathering an aggregation needs all the way down.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { AGGREGATION_BUCKETS_MAX } from '../../../query/aggregation-request.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { Poll } from '../poll.ts'
import type { FieldColumns, IndexColumn } from '../mapping/field-columns.ts'
import type { AggregationPartials } from './aggregation-partial.ts'
import type { DocSet, SegmentDocs } from './doc-set.ts'

export interface AggregationSource {
  readonly columns: FieldColumns
  readonly poll: Poll
  readonly nowMs: number
  /** Whether no other shard has documents of the table: then only what is returned is kept. */
  readonly isWhole: boolean
  /** All documents that a query finds; undefined finds every document. */
  readonly find: (query: Query | undefined) => Sliced<DocSet>
}

export class AggregationContext {
  readonly source: AggregationSource
  #bucketsLeft = AGGREGATION_BUCKETS_MAX

  constructor(source: AggregationSource) {
    this.source = source
  }

  get poll(): Poll {
    return this.source.poll
  }

  /** Undefined, with a warning, if no document has the field. */
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
    `aggregations: more than ${AGGREGATION_BUCKETS_MAX} buckets in all; take wider intervals, ` +
      'a smaller size or a narrower query',
  )
}

/** Gathers the aggregations below a bucket from the bucket's documents. */
export type GatherSub = (docs: DocSet) => Sliced<AggregationPartials>

/** Tells the keys of the buckets each document belongs to, every key once a document. */
export type BucketWalk<Key> = (
  part: SegmentDocs,
  visit: (key: Key, doc: number) => void,
) => Sliced<void>
