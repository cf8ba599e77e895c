// Each machine, with the operator killed at each of its passes: before the step, and after it but before the status.

import { expect } from 'chai'
import { decide } from '../../../../operator/machines/decide.ts'
import { DISTURBANCES, runPass, settle } from '../../../support/operator/operator-run.ts'
import type { Crash } from '../../../support/operator/operator-run.ts'
import { World } from '../../../support/operator/world.ts'

const PASSES_MAX = 400
/** Longer than a pod needs to start, and than the gate needs for its second look. */
const QUIET_PASSES = 5

interface Scenario {
  readonly change: (world: World) => void
  readonly isDone: (world: World) => boolean
}

function isReady(world: World): boolean {
  return world.cluster.status?.conditions?.some(isTrue('Ready')) === true
}

function isTrue(type: string) {
  return (one: { readonly type: string; readonly status: string }) =>
    one.type === type && one.status === 'True'
}

function hasPods(world: World, count: number): boolean {
  return world.kubernetes.pods.filter(({ pool }) => pool === 'nodes').length === count
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  create: { change: () => undefined, isDone: (world) => isReady(world) && hasPods(world, 3) },
  'scale up': {
    change: (world) => world.edit({ replicas: 5 }),
    isDone: (world) => isReady(world) && hasPods(world, 5) && world.store.nodes.size === 5,
  },
  'scale down': {
    change: (world) => world.edit({ replicas: 2 }),
    isDone: (world) => isReady(world) && hasPods(world, 2) && world.store.nodes.size === 2,
  },
  'scale down with its volumes': {
    change: (world) => world.edit({ replicas: 2, deletesClaims: true }),
    isDone: (world) =>
      isReady(world) && world.kubernetes.claims.filter(({ pool }) => pool === 'nodes').length === 2,
  },
  rollout: {
    change: (world) => world.edit({ digest: 'b' }),
    isDone: (world) =>
      isReady(world) && world.kubernetes.pods.every(({ revision }) => revision !== 'rev-a'),
  },
  resize: {
    change: (world) => world.edit({ bytes: 200 }),
    isDone: (world) => isReady(world) && world.kubernetes.sets.nodes?.claimBytes === 200,
  },
  'a volume that fills': {
    change: (world) => {
      // What is known of volumes is believed when their sizes have not changed for a while.
      for (let tick = 0; tick < 30; tick++) world.tick()
      for (const claim of world.kubernetes.claims) claim.usedBytes = claim.ordinal === 1 ? 90 : 10
    },
    isDone: (world) =>
      isReady(world) &&
      world.cluster.status?.grownSize === '130' &&
      world.kubernetes.sets.nodes?.claimBytes === 130 &&
      world.kubernetes.claims
        .filter(({ pool }) => pool === 'nodes')
        .every(({ capacity }) => capacity === 130),
  },
  hibernate: {
    change: (world) => world.edit({ hibernate: true }),
    isDone: (world) =>
      world.kubernetes.pods.length === 0 &&
      world.cluster.status?.conditions?.some(isTrue('Hibernated')) === true,
  },
  'delete and make again': {
    change: (world) => world.delete(),
    isDone: (world) => isReady(world) && world.cluster.uid !== 'cluster-1' && hasPods(world, 3),
  },
  'lost volume': {
    change: (world) => DISTURBANCES.lose_claim(world, () => 0),
    isDone: (world) => isReady(world) && world.store.nodes.size === 3,
  },
  'lost volume of etcd': {
    change: (world) => DISTURBANCES.lose_etcd_claim(world, () => 0),
    isDone: (world) => isReady(world) && world.etcd.members.length === 3,
  },
  'more members of etcd': {
    change: (world) => world.edit({ etcdReplicas: 5 }),
    isDone: (world) => isReady(world) && world.etcd.members.length === 5,
  },
  'fewer members of etcd': {
    change: (world) => world.edit({ etcdReplicas: 1 }),
    isDone: (world) => isReady(world) && world.etcd.members.length === 1,
  },
}

/** A world in which the scenario begins. */
function begin(name: string, { change }: Scenario): World {
  const world = new World({ replicationFactor: 2 })
  if (name !== 'create') settle(world, decide)
  change(world)
  return world
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Runs to the end, with one crash; answers which of the passes that did something had a step. */
function run(world: World, at: { readonly pass: number; readonly crash: Crash }): boolean[] {
  const active: boolean[] = []
  let quiet = 0
  for (let pass = 0; pass < PASSES_MAX && quiet < QUIET_PASSES; pass++) {
    const before = world.cluster.status
    const crash = active.length === at.pass ? at.crash : 'none'
    const decision = runPass(world, decide, { crash })
    const isActive = decision.step !== undefined || !isEqual(decision.status, before)
    if (isActive) active.push(decision.step !== undefined)
    quiet = isActive ? 0 : quiet + 1
    world.tick()
  }
  return active
}

describe('the operator killed at each pass', () => {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(`finishes: ${name}`, () => {
      const undisturbed = begin(name, scenario)
      const passes = run(undisturbed, { pass: -1, crash: 'none' })
      expect(scenario.isDone(undisturbed), 'without a crash').to.equal(true)
      expect(passes.length).to.be.within(1, PASSES_MAX - 1)

      for (const [pass, hasStep] of passes.entries()) {
        // Without a step both crashes lose the same: the status.
        const crashes: readonly Crash[] = hasStep ? ['before_step', 'status_lost'] : ['status_lost']
        for (const crash of crashes) {
          const world = begin(name, scenario)

          run(world, { pass, crash })

          const told = `${crash} at pass ${pass}: ${JSON.stringify(world.cluster.status?.operation)}`
          expect(scenario.isDone(world), told).to.equal(true)
        }
      }
    })
  }
})
