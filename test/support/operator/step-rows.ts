// How each kind of step is asked for in a StepWorld, how its effect is told, and what the executor answers when the world is
// not as it was.

import type { Step } from '../../../operator/machines/pass/decision.ts'
import { CLEANUP_FINALIZER } from '../../../operator/kinds/cluster/store-cluster.ts'
import type { StepOutcome } from '../../../operator/carry-out/step-context.ts'
import { inputOf } from './cluster-inputs.ts'
import { WRITTEN } from './step-world.ts'
import type { StepWorld } from './step-world.ts'

/** Who is asked to do it. */
export type Server = 'api' | 'store' | 'etcd'

/** What a step of a kind does, and what is answered. */
export interface StepRow {
  readonly server: Server
  /** What has to be so before it is asked for. */
  readonly prepare?: (world: StepWorld) => Promise<unknown>
  readonly step: (world: StepWorld) => Promise<Step>
  readonly hasHappened: (world: StepWorld) => Promise<boolean>
  /** `Kind/name` of the object that it changes. */
  readonly about?: string
  /** `Kind/name` of the object that it makes, and that must not be there. */
  readonly makes?: string
  readonly answers: Answers
}

/** What the executor answers to a step about an object that is not as the pass has read it. */
export interface Answers {
  /** Another object has its name. */
  readonly replaced: StepOutcome
  /** Somebody has changed it before the step. */
  readonly changed: StepOutcome
  /** Somebody changes it between the executor's reads and its write. */
  readonly changedLate: StepOutcome
  readonly gone: StepOutcome
  /** It has happened before, and was not answered. */
  readonly again: StepOutcome
}

const STRICT: Answers = {
  replaced: 'outdated',
  changed: 'outdated',
  changedLate: 'outdated',
  gone: 'outdated',
  again: 'outdated',
}
/** What the store and etcd are asked for twice is one request. */
const ASKED: Answers = { ...STRICT, again: 'done' }

const CLUSTER = 'StoreCluster/books'
const SET = 'StatefulSet/books-node'
const POD = 'Pod/books-node-2'
const CLAIM = 'PersistentVolumeClaim/data-books-node-2'
const CONFIG = 'ConfigMap/books-config'
const POLICY = 'NetworkPolicy/books-node'
const MARK = { at: '2026-01-01T00:00:00Z', cluster: 'c', nodeID: 'n2', operation: 'o1' }

const isGone = async (world: StepWorld, name: string) => (await world.get(name)) === undefined
const is = async (world: StepWorld, name: string, path: string, value: unknown) =>
  (await world.at(name, path)) === value
const annotationOf = async (world: StepWorld, name: string, annotation: string) =>
  (await world.get(name))?.metadata.annotations?.[annotation]
const PARTITION = 'spec.updateStrategy.rollingUpdate.partition'
const hasFinalizer = async (world: StepWorld) =>
  (await world.get(CLUSTER))?.metadata.finalizers?.includes(CLEANUP_FINALIZER) === true
const lastCall = (asked: { readonly calls: unknown[][] }, ...call: unknown[]) =>
  Promise.resolve(JSON.stringify(asked.calls.at(-1)) === JSON.stringify(call))

export const STEP_ROWS: Readonly<Record<Step['kind'], StepRow>> = {
  add_finalizer: {
    server: 'api',
    step: async () => ({ kind: 'add_finalizer' }),
    hasHappened: hasFinalizer,
    about: CLUSTER,
    answers: STRICT,
  },
  remove_finalizer: {
    server: 'api',
    prepare: (world) => world.merge(CLUSTER, { metadata: { finalizers: [CLEANUP_FINALIZER] } }),
    step: async () => ({ kind: 'remove_finalizer' }),
    hasHappened: async (world) => !(await hasFinalizer(world)),
    about: CLUSTER,
    answers: STRICT,
  },
  apply_children: {
    server: 'api',
    prepare: (world) => world.merge(CONFIG, { data: { 'quarry.yaml': 'edited' } }),
    step: async () => ({ kind: 'apply_children', names: [CONFIG] }),
    hasHappened: async (world) => Object(await world.at(CONFIG, 'data'))['quarry.yaml'] === '{}\n',
    about: CONFIG,
    // A wish holds whatever people have changed.
    answers: { ...STRICT, changed: 'done', changedLate: 'done', again: 'done' },
  },
  delete_children: {
    server: 'api',
    prepare: async (world) => {
      const { cluster, decided } = inputOf({ ...WRITTEN, networkPolicy: { enabled: false } })
      world.input = { cluster: { ...cluster, uid: world.input.cluster.uid }, decided }
      return Promise.resolve()
    },
    step: async () => ({ kind: 'delete_children', names: [POLICY] }),
    hasHappened: (world) => isGone(world, POLICY),
    about: POLICY,
    // Whatever it has become, it is not asked for.
    answers: { ...STRICT, changed: 'done', gone: 'done', again: 'done' },
  },

  create_set: {
    server: 'api',
    prepare: (world) => world.remove(SET),
    step: async () => ({ kind: 'create_set', pool: 'nodes', replicas: 5, partition: 0 }),
    hasHappened: (world) => is(world, SET, 'spec.replicas', 5),
    makes: SET,
    answers: STRICT,
  },
  write_template: {
    server: 'api',
    prepare: async (world) => {
      const { cluster, decided } = inputOf({ ...WRITTEN, logLevel: 'Debug' })
      world.input = { cluster: { ...cluster, uid: world.input.cluster.uid }, decided }
      return Promise.resolve()
    },
    step: async (world) => ({
      kind: 'write_template',
      pool: 'nodes',
      set: await world.version(SET),
      partition: 3,
    }),
    hasHappened: (world) => is(world, SET, PARTITION, 3),
    about: SET,
    answers: STRICT,
  },
  set_partition: {
    server: 'api',
    step: async (world) => ({
      kind: 'set_partition',
      pool: 'nodes',
      set: await world.version(SET),
      partition: 2,
    }),
    hasHappened: (world) => is(world, SET, PARTITION, 2),
    about: SET,
    answers: STRICT,
  },
  set_replicas: {
    server: 'api',
    step: async (world) => ({
      kind: 'set_replicas',
      pool: 'nodes',
      set: await world.version(SET),
      replicas: 2,
    }),
    hasHappened: (world) => is(world, SET, 'spec.replicas', 2),
    about: SET,
    answers: STRICT,
  },
  delete_set: {
    server: 'api',
    step: async (world) => ({
      kind: 'delete_set',
      pool: 'nodes',
      set: await world.version(SET),
      keepsPods: true,
    }),
    hasHappened: (world) => isGone(world, SET),
    about: SET,
    answers: STRICT,
  },
  delete_pod: {
    server: 'api',
    step: async (world) => {
      const { uid } = await world.version(POD)
      return { kind: 'delete_pod', name: 'books-node-2', uid }
    },
    hasHappened: (world) => isGone(world, POD),
    about: POD,
    answers: { ...STRICT, changed: 'done' },
  },

  adopt_claim: {
    server: 'api',
    step: async (world) => ({
      kind: 'adopt_claim',
      name: 'data-books-node-2',
      claim: await world.version(CLAIM),
      clusterUID: 'c',
    }),
    hasHappened: async (world) =>
      (await annotationOf(world, CLAIM, 'quarry.dev/cluster-uid')) === 'c',
    about: CLAIM,
    answers: STRICT,
  },
  mark_claim: {
    server: 'api',
    prepare: (world) => world.merge(CLAIM, { metadata: { annotations: { other: 'kept' } } }),
    step: async (world) => ({
      kind: 'mark_claim',
      name: 'data-books-node-2',
      claim: await world.version(CLAIM),
      mark: MARK,
    }),
    hasHappened: async (world) =>
      (await annotationOf(world, CLAIM, 'other')) === 'kept' &&
      (await annotationOf(world, CLAIM, 'quarry.dev/drained')) === JSON.stringify(MARK),
    about: CLAIM,
    answers: STRICT,
  },
  delete_claim: {
    server: 'api',
    step: async (world) => ({
      kind: 'delete_claim',
      name: 'data-books-node-2',
      claim: await world.version(CLAIM),
    }),
    hasHappened: (world) => isGone(world, CLAIM),
    about: CLAIM,
    answers: STRICT,
  },
  grow_claim: {
    server: 'api',
    step: async (world) => ({
      kind: 'grow_claim',
      name: 'data-books-node-2',
      claim: await world.version(CLAIM),
      bytes: 20 * 1024 ** 3,
    }),
    hasHappened: (world) => is(world, CLAIM, 'spec.resources.requests.storage', '20Gi'),
    about: CLAIM,
    answers: STRICT,
  },

  hand_over: {
    server: 'store',
    step: async () => ({ kind: 'hand_over', nodeID: 'n2' }),
    hasHappened: ({ store }) => lastCall(store, 'handOver', 'n2'),
    answers: ASKED,
  },
  drain: {
    server: 'store',
    step: async () => ({ kind: 'drain', nodeID: 'n2', operation: 'o1' }),
    hasHappened: ({ store }) => lastCall(store, 'drain', 'n2', 'o1'),
    answers: ASKED,
  },
  undrain: {
    server: 'store',
    step: async () => ({ kind: 'undrain', nodeID: 'n2', operation: 'o1' }),
    hasHappened: ({ store }) => lastCall(store, 'undrain', 'n2', 'o1'),
    answers: ASKED,
  },
  decommission: {
    server: 'store',
    step: async () => ({ kind: 'decommission', nodeID: 'n2', operation: 'o1' }),
    hasHappened: ({ store }) => lastCall(store, 'decommission', 'n2', 'o1'),
    answers: ASKED,
  },
  forget: {
    server: 'store',
    step: async () => ({ kind: 'forget', nodeID: 'n2' }),
    hasHappened: ({ store }) => lastCall(store, 'forget', 'n2'),
    answers: ASKED,
  },

  add_etcd_member: {
    server: 'etcd',
    step: async () => ({ kind: 'add_etcd_member', name: 'books-etcd-3' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'addMember', 'books-etcd-3'),
    answers: ASKED,
  },
  promote_etcd_member: {
    server: 'etcd',
    step: async () => ({ kind: 'promote_etcd_member', memberID: 'a1' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'promoteMember', 'a1'),
    answers: ASKED,
  },
  remove_etcd_member: {
    server: 'etcd',
    step: async () => ({ kind: 'remove_etcd_member', memberID: 'a1' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'removeMember', 'a1'),
    answers: ASKED,
  },
  move_etcd_leader: {
    server: 'etcd',
    step: async () => ({ kind: 'move_etcd_leader', fromMemberID: 'a1', toMemberID: 'a2' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'moveLeader', 'a1', 'a2'),
    answers: ASKED,
  },
  defragment_etcd_member: {
    server: 'etcd',
    step: async () => ({ kind: 'defragment_etcd_member', memberID: 'a1' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'defragment', 'a1'),
    answers: ASKED,
  },
  disarm_etcd_alarm: {
    server: 'etcd',
    step: async () => ({ kind: 'disarm_etcd_alarm', memberID: 'a1' }),
    hasHappened: ({ etcd }) => lastCall(etcd, 'disarmAlarm', 'a1'),
    answers: ASKED,
  },
}
