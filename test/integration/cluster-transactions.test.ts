// Suites of a single process that concern documents and transactions, against three real nodes: each request goes to
// the next node, and nodes are killed on the way.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeModel } from '../suites/model.ts'
import { describeSerializability } from '../suites/serializability.ts'

const { seed } = parseTestSettings(process.env)

describe('a cluster', function () {
  this.timeout(300_000)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeSerializability(nodes, { seed, perClient: 20, timeoutMs: 600_000 })
  describeModel(nodes, { seed, runs: 1, runTimeoutMs: 600_000 })
})
