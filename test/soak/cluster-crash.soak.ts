// The crash suite against three real nodes: one of them is killed while clients continue to write, or all at once.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { describeCrashes } from '../suites/crash.ts'

describe('a cluster', () => {
  const { seed, clusterCrashRounds: rounds } = parseTestSettings(process.env)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeCrashes(nodes, { seed, rounds, roundTimeoutMs: 180_000 })
})
