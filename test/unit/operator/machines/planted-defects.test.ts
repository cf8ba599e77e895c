import { expect } from 'chai'
import { seededRandom } from '../../../../lib/random.ts'
import { BrokenInvariant } from '../../../support/operator/modelled-store.ts'
import { isExplicit, simulate } from '../../../support/operator/operator-run.ts'
import type { Decide, Disturbance } from '../../../support/operator/operator-run.ts'
import { plantCopy } from '../../../support/simulation/planted-copy.ts'
import type { Defect } from '../../../support/simulation/planted-copy.ts'

const SEEDS_MAX = 40
const MACHINES = 'operator/machines'

interface PlantedDefect extends Defect {
  /** Those that it needs to show soon. */
  readonly disturbances: readonly Disturbance[]
}

/** The simulation must find each of these. */
const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'a drain that is over before the node is empty': {
    file: 'scale-down/confirmation.ts',
    text: "return node.state === 'draining' && node.operation === id && node.emptying?.done === true",
    instead: "return node.state === 'draining' && node.operation === id",
    disturbances: ['scale'],
  },
  'a shrink without the mark': {
    file: 'scale-down/taking-away.ts',
    text: 'if (claim === undefined || claim.isDeleting || isMarked) {',
    instead: 'if (claim === undefined || claim.uid !== "" || isMarked) {',
    disturbances: ['scale'],
  },
  'a template that is written below its pods': {
    file: 'rollout/rollout.ts',
    text: 'partition: set.replicas,',
    instead: 'partition: 0,',
    disturbances: ['template'],
  },
  'a mark on the volume of a node that serves': {
    file: 'objects/claims.ts',
    text: "if (node?.state !== 'decommissioned' || node.emptying?.done !== true) return undefined",
    instead: "if (node?.state === 'decommissioned') return undefined",
    disturbances: ['scale'],
  },
  'a walk that takes two pods at once': {
    file: 'rollout/rollout.ts',
    text: 'return setPartition(pass, operation, set, ordinal)',
    instead: 'return setPartition(pass, operation, set, Math.max(0, ordinal - 1))',
    disturbances: ['template'],
  },
  'a walk that never looks at its gate': {
    file: 'rollout/rollout-gate.ts',
    text: 'return closedForPods(pass, set, next) ?? closedForEtcd(pass) ?? closedForStore(pass, set, next)',
    instead:
      'return pass.memory.replicas > 0 ? undefined : closedForPods(pass, set, next) ?? closedForEtcd(pass) ?? closedForStore(pass, set, next)',
    disturbances: ['template', 'crash_pod', 'lose_node'],
  },
  'a walk that does not wait for models': {
    file: 'rollout/rollout-gate.ts',
    text: "if (failure !== undefined) return { reason: 'Stalled', message: failure }",
    instead: 'if (failure !== undefined) return undefined',
    disturbances: ['bad_models'],
  },
  'a new set that forgets how many pods there were': {
    file: 'objects/keeping.ts',
    text: "return { kind: 'create_set', pool: 'nodes', replicas, partition }",
    instead:
      "return { kind: 'create_set', pool: 'nodes', replicas: partition > 0 ? 1 : replicas, partition }",
    disturbances: ['delete_set'],
  },
  'a set that is deleted with its pods to grow': {
    file: 'objects/storage.ts',
    text: 'keepsPods: true,',
    instead: 'keepsPods: false,',
    disturbances: ['grow'],
  },
  'claims that are deleted without a mark': {
    file: 'objects/claims.ts',
    text: "if (isDrained(claim)) return isInUse(pass, claim) ? 'wait' : deleteClaim(claim)",
    instead: 'if (claim.uid !== "") return deleteClaim(claim)',
    disturbances: ['scale', 'delete'],
  },
  'volumes that grow past their largest size': {
    file: 'objects/auto-grow.ts',
    text: 'return Math.min(bytes + wanted.incrementBytes, wanted.maxBytes)',
    instead: 'return bytes + wanted.incrementBytes',
    disturbances: ['fill_volume', 'auto_grow'],
  },
  'volumes that grow again and again': {
    file: 'objects/auto-grow.ts',
    text: 'sinceMs(lastGrownAt, nowMs) < GROW_PAUSE_MS',
    instead: 'sinceMs(lastGrownAt, nowMs) < 0',
    disturbances: ['fill_volume'],
  },
  'volumes that grow while none is nearly full': {
    file: 'objects/auto-grow.ts',
    text: '>= thresholdPercent)',
    instead: '>= thresholdPercent - 30)',
    disturbances: ['fill_volume'],
  },
  'volumes that grow while others have not grown yet': {
    file: 'objects/auto-grow.ts',
    text: 'if (!isSettled(pass, claims)) return undefined',
    instead: '',
    disturbances: ['fill_volume', 'slow_volume', 'grow'],
  },
  'a growth that is forgotten': {
    file: 'objects/auto-grow.ts',
    text: 'if (specClaimBytes >= claimBytes) return rest',
    instead: 'return rest',
    disturbances: ['fill_volume'],
  },
  'a deletion that keeps no volume': {
    file: 'operations/deletion.ts',
    text: 'if (!pass.wanted.deletesClaimsWith.cluster) return undefined',
    instead: '',
    disturbances: ['delete'],
  },
  'a member of etcd that is removed while another one is away': {
    file: 'etcd/members.ts',
    text: 'names.includes(name) || (isHealthy && !isLearner)',
    instead: 'names.includes(name) || isHealthy || !isLearner',
    disturbances: ['scale_etcd', 'lose_etcd_claim', 'lose_node'],
  },
}

function seedOfDiscovery(decide: Decide, disturbances: readonly Disturbance[]): number {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    try {
      const random = seededRandom(seed)
      const settled = simulate({ random, decide, disturbances, ticks: 120, replicationFactor: 2 })
      if (!isExplicit(settled)) return seed
    } catch (error) {
      if (error instanceof BrokenInvariant) return seed
      throw error
    }
  }
  return Infinity
}

describe('the simulation of the operator', () => {
  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`finds ${name}`, async () => {
      const folders = { copied: [MACHINES], linked: ['operator/kinds'] }
      const load = plantCopy(folders, defect)
      const { decide } = await load<{ decide: Decide }>(`${MACHINES}/decide.ts`)

      expect(seedOfDiscovery(decide, defect.disturbances)).to.be.at.most(SEEDS_MAX)
    })
  }
})
