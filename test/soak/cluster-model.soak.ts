// The model against three real nodes: each request goes to the next one, and any of them is killed on the way.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeModel } from '../suites/model.ts'

describe('a cluster', () => {
  const { seed, clusterModelRuns: runs } = parseTestSettings(process.env)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeModel(nodes, { seed, runs, runTimeoutMs: 240_000 })
})
