// The suites of queries of a single process, against three real nodes: each request goes to the next node.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeManagedWrites } from '../suites/managed-writes.ts'
import { describeManyShards } from '../suites/many-shards.ts'
import { describeMergedCursors } from '../suites/merged-cursors.ts'
import { describeMergedModel } from '../suites/merged-model.ts'
import { describeQueries } from '../suites/query.ts'
import { describeQueryCursors } from '../suites/query-cursors.ts'
import { describeQueryIndexes } from '../suites/query-indexes.ts'
import { describeStoredAsSent } from '../suites/stored-as-sent.ts'
import { describeSuggestions } from '../suites/suggestions.ts'
import { describeSparseQueries } from '../suites/sparse-queries.ts'
import { describeVectorQueries } from '../suites/vector-queries.ts'

const { seed } = parseTestSettings(process.env)

describe('a cluster', function () {
  this.timeout(300_000)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeManyShards(nodes)
  describeMergedCursors(nodes)
  describeMergedModel(nodes, { seed })
  describeQueries(nodes)
  describeQueryCursors(nodes)
  describeQueryIndexes(nodes)
  describeStoredAsSent(nodes)
  describeSuggestions(nodes)
  describeSparseQueries(nodes)
  describeVectorQueries(nodes)
  describeManagedWrites(nodes)
})
