import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { failover, handOver } from './leader-changes.ts'
import { lostNode } from './lost-node.ts'
import { replicatedLookups } from './replicated-lookups.ts'
import { replicatedWrites } from './replicated-writes.ts'
import { rollingRestart } from './rolling-restart.ts'

export const clusterSuite: SuiteEntry = {
  packages: ['classic-level'],
  rowNames: ['writes', 'lookups', 'failover', 'lost-node', 'hand-over', 'rolling'],
  takesDocuments: false,
  build: buildClusterSuite,
}

function buildClusterSuite(bench: Bench): Suite {
  return {
    rows: {
      writes: () => replicatedWrites(bench),
      lookups: () => replicatedLookups(bench),
      failover: () => failover(bench),
      'lost-node': () => lostNode(bench),
      'hand-over': () => handOver(bench),
      rolling: () => rollingRestart(bench),
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}
