// The suites of queries of a single process, against three real nodes: each request goes to the next node.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { describeManyShards } from '../suites/many-shards.ts'
import { describeQueries } from '../suites/query.ts'
import { describeQueryCursors } from '../suites/query-cursors.ts'
import { describeQueryIndexes } from '../suites/query-indexes.ts'
import { describeStoredAsSent } from '../suites/stored-as-sent.ts'
import { describeSuggestions } from '../suites/suggestions.ts'
import { describeVectorQueries } from '../suites/vector-queries.ts'

describe('a cluster', function () {
  this.timeout(300_000)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeManyShards(nodes)
  describeQueries(nodes)
  describeQueryCursors(nodes)
  describeQueryIndexes(nodes)
  describeStoredAsSent(nodes)
  describeSuggestions(nodes)
  describeVectorQueries(nodes)
})
