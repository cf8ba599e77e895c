import { expect } from 'chai'
import { decide } from '../../../../../operator/machines/decide.ts'
import type { PodView } from '../../../../../operator/machines/observed/kubernetes-view.ts'
import type { StoreNode } from '../../../../../operator/machines/observed/store-view.ts'
import { memoryOf } from '../../../../../operator/machines/pass/memory.ts'
import { wantedOf } from '../../../../../operator/machines/pass/wanted.ts'
import { closedGate } from '../../../../../operator/machines/rollout/rollout-gate.ts'
import { settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

interface Change {
  /** By ordinal. */
  readonly pods: Readonly<Record<number, Partial<PodView>>>
  readonly store?: 'unreachable'
  readonly nodes?: Partial<StoreNode>
}

/** Why the pod of ordinal 2 may not be stopped, in a cluster of three whose pods are all of an older template. */
function gateFor({ pods: changes, store: answer, nodes }: Change): string | undefined {
  const world = new World({ replicationFactor: 2 })
  settle(world, decide)
  const calm = world.observe({ cluster: 0, nodes: 0, etcd: 0 })
  const { set, pods } = calm.nodes
  if (set === undefined || calm.store === 'unreachable') throw new Error('it has settled')
  const newer = { ...set, updateRevision: 'rev-next' }
  const changed = pods.map((pod) => ({ ...pod, ...changes[pod.ordinal] }))
  const told = calm.store.nodes.map((node) => ({ ...node, safeToStop: true, ...nodes }))
  const observed = {
    ...calm,
    nodes: { ...calm.nodes, set: newer, pods: changed },
    store: answer ?? { ...calm.store, nodes: told },
  }
  const { spec, status } = observed.cluster
  const pass = { observed, wanted: wantedOf(spec), memory: memoryOf(status) }
  const next = changed.find(({ ordinal }) => ordinal === 2)
  if (next === undefined) throw new Error('three pods run')
  return closedGate(pass, newer, next)?.reason
}

const LONG_ILL: Partial<PodView> = { isReady: false, readyChangedAtMs: 0 }
const ILL_SIDECAR: Partial<PodView> = {
  ...LONG_ILL,
  isServing: true,
  inference: { state: 'Silent', problem: { reason: 'CrashLooping', message: 'back-off' } },
}

const CRASHING: Partial<PodView> = {
  ...LONG_ILL,
  problem: { reason: 'CrashLooping', message: 'back-off' },
}

const CASES: Readonly<Record<string, { readonly change: Change; readonly reason?: string }>> = {
  'opens for a pod that serves and is safe to stop': { change: { pods: {} } },
  'does not ask the store about a pod that has been broken for long': {
    change: { pods: { 2: LONG_ILL }, store: 'unreachable' },
  },
  'asks the store about a pod that is ill by its sidecar alone': {
    change: { pods: { 2: ILL_SIDECAR }, store: 'unreachable' },
    reason: 'WaitingForHealth',
  },
  'tells that nothing will open it for a pod below that cannot start': {
    change: { pods: { 0: CRASHING }, nodes: { safeToStop: false } },
    reason: 'Stalled',
  },
  'opens beside a pod below that cannot start': { change: { pods: { 0: CRASHING } } },
  'keeps a pod with an ill sidecar whose node is needed': {
    change: { pods: { 2: ILL_SIDECAR }, nodes: { safeToStop: false } },
    reason: 'WaitingForReplicas',
  },
  'opens for a pod with an ill sidecar whose node others can do without': {
    change: { pods: { 2: ILL_SIDECAR } },
  },
  'does not wait for the sidecar of another pod that the walk mends later': {
    change: { pods: { 0: ILL_SIDECAR } },
  },
  'waits for the sidecar of a pod that has the new template already': {
    change: { pods: { 0: { ...ILL_SIDECAR, revision: 'rev-next' } } },
    reason: 'WaitingForPods',
  },
  'waits for the models of a pod that has the new template already (GT3)': {
    change: { pods: { 0: { revision: 'rev-next', inference: { state: 'Loading' } } } },
    reason: 'WaitingForHealth',
  },
  'tells of models that a pod of the new template does not get (GT3)': {
    change: {
      pods: { 0: { revision: 'rev-next', inference: { state: 'Loading', message: 'none' } } },
    },
    reason: 'Stalled',
  },
  'opens when the models are loaded': {
    change: { pods: { 0: { revision: 'rev-next', inference: { state: 'Ready' } } } },
  },
  'does not wait for models of pods that the walk has yet to come to': {
    change: {
      pods: {
        0: { inference: { state: 'Loading', message: 'none' } },
        2: { inference: { state: 'Loading', message: 'none' } },
      },
    },
  },
}

describe('the gate of a rollout', () => {
  for (const [name, { change, reason }] of Object.entries(CASES)) {
    it(name, () => {
      expect(gateFor(change)).to.equal(reason)
    })
  }
})
