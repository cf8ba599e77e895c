// What each step does to the modelled world, under the preconditions that it names, and what it must not do.

import type { Pool, Step } from '../../../operator/machines/pass/decision.ts'
import type { Observed } from '../../../operator/machines/observed/observed.ts'
import { hasNoModels, revisionOf } from './modelled-kubernetes.ts'
import type { ModelledClaim, ModelledPod, ModelledSet } from './modelled-kubernetes.ts'
import { BrokenInvariant } from './modelled-store.ts'
import type { ModelledNode } from './modelled-store.ts'
import { claimBytesOf } from './claim-bytes.ts'
import type { World } from './world.ts'

type Of<Kind extends Step['kind']> = Extract<Step, { readonly kind: Kind }>

/** Whether it has happened. */
type Effects = {
  readonly [Kind in Exclude<Step['kind'], 'remove_finalizer'>]: (
    world: World,
    step: Of<Kind>,
    observed: Observed,
  ) => boolean
}

export function applyStep(
  world: World,
  observed: Observed,
  step: Exclude<Step, { readonly kind: 'remove_finalizer' }>,
): boolean {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key of the table is the step's own kind
  const effect = EFFECTS[step.kind] as (world: World, step: Step, observed: Observed) => boolean
  return effect(world, step, observed)
}

const done = (effect: () => void): boolean => {
  effect()
  return true
}

const EFFECTS: Effects = {
  add_finalizer: (world) =>
    done(() => {
      world.cluster.hasFinalizer = true
      world.cluster.version += 1
    }),
  apply_children: (world) => done(() => (world.hasChildren = true)),
  delete_children: () => true,
  create_set: createSet,
  write_template: (world, { pool, set, partition }) =>
    onSet(world, { pool, set }, (found) => {
      found.template = { ...found.template, digest: world.cluster.wish.digest }
      found.partition = partition
      if (pool === 'nodes' && partition < found.replicas && hasPods(world, pool)) {
        throw new BrokenInvariant('RO2: a template was written above the partition')
      }
    }),
  set_partition: (world, { pool, set, partition }) => {
    return onSet(world, { pool, set }, (found) => {
      if (pool === 'nodes') checkPartition(world, found, partition)
      found.partition = partition
    })
  },
  set_replicas: (world, { pool, set, replicas }) =>
    onSet(world, { pool, set }, (found) => {
      if (pool === 'nodes' && replicas < found.replicas) checkShrink(world, found, replicas)
      if (pool === 'etcd' && replicas < found.replicas) checkEtcdShrink(world, found, replicas)
      found.replicas = replicas
    }),
  delete_set: (world, { pool, set, keepsPods }) =>
    onSet(world, { pool, set }, (found) => {
      if (world.cluster.deletedAtMs === undefined && !keepsPods) {
        throw new BrokenInvariant('STG2: a set was deleted with its pods')
      }
      found.isDeleting = true
      found.keepsPods = keepsPods
    }),
  delete_pod: (world, { name, uid }) => {
    const pod = world.kubernetes.pods.find((one) => one.uid === uid)
    if (pod === undefined) return false
    checkPod(world, pod, name)
    return done(() => world.kubernetes.stop(pod))
  },
  adopt_claim: (world, { claim, clusterUID }) =>
    onClaim(world, claim, (found) => (found.clusterUID = clusterUID)),
  mark_claim: (world, { claim, mark }) =>
    onClaim(world, claim, (found) => {
      const node = world.store.nodeOf(found.uid)
      if (node !== undefined && node.state !== 'decommissioned') {
        throw new BrokenInvariant('CLM2: a mark was written for a node that serves')
      }
      found.drained = mark
    }),
  delete_claim: (world, { claim }) =>
    onClaim(world, claim, (found) => {
      checkClaim(world, found)
      found.isDeleting = true
    }),
  grow_claim: (world, { claim, bytes }) =>
    onClaim(world, claim, (found) => {
      if (bytes <= found.bytes) throw new BrokenInvariant('STG1: a request became smaller')
      found.bytes = bytes
    }),
  hand_over: () => true,
  drain: (world, { nodeID, operation }) =>
    done(() => {
      checkDrain(world, operation)
      world.store.drain(nodeID, operation)
    }),
  undrain: (world, { nodeID, operation }) => done(() => world.store.undrain(nodeID, operation)),
  decommission: (world, { nodeID, operation }) =>
    done(() => {
      checkDecommission(world, nodeID, operation)
      world.store.decommission(nodeID, operation)
    }),
  forget: (world, { nodeID }) =>
    done(() => {
      const claimUID = world.store.nodes.get(nodeID)?.claimUID
      world.store.forget(nodeID)
      const isGone = claimUID !== undefined && !world.store.nodes.has(nodeID)
      if (isGone) world.rememberForgotten(claimUID)
    }),
  add_etcd_member: (world, { name }) =>
    done(() => {
      checkEtcdChange(world)
      world.etcd.add(name, undefined, true)
    }),
  promote_etcd_member: (world, { memberID }) =>
    done(() => {
      const member = world.etcd.members.find(({ id }) => id === memberID)
      if (member !== undefined) member.isLearner = false
    }),
  remove_etcd_member: (world, { memberID }) =>
    done(() => {
      checkEtcdChange(world)
      world.etcd.members = world.etcd.members.filter(({ id }) => id !== memberID)
    }),
  move_etcd_leader: (world, { toMemberID }) =>
    done(() => {
      const { members } = world.etcd
      const first = members.filter(({ id }) => id === toMemberID)
      world.etcd.members = [...first, ...members.filter(({ id }) => id !== toMemberID)]
    }),
  defragment_etcd_member: (world, { memberID }) =>
    done(() => {
      const member = world.etcd.members.find(({ id }) => id === memberID)
      if (member !== undefined) member.dbBytes = member.usedBytes
    }),
  disarm_etcd_alarm: (world) =>
    done(() => {
      for (const member of world.etcd.members) member.hasAlarm = false
    }),
}

function createSet(world: World, { pool, replicas, partition }: Of<'create_set'>): boolean {
  const { sets } = world.kubernetes
  if (sets[pool] !== undefined) return false
  const { digest } = world.cluster.wish
  const bytes = claimBytesOf(world.cluster.wish, world.cluster.status)
  const template = {
    digest: pool === 'nodes' ? digest : 'etcd',
    version: '1.0.0',
    image: 'quarry:1.0.0',
  }
  const made: ModelledSet = {
    uid: world.kubernetes.uid('set'),
    version: 1,
    generation: 1,
    observedGeneration: 0,
    replicas,
    partition,
    template,
    currentRevision: '',
    claimBytes: pool === 'nodes' ? bytes : 10,
    isDeleting: false,
    keepsPods: false,
  }
  made.currentRevision = revisionOf(made)
  const isAsleep = world.cluster.status?.operation?.type === 'Hibernate' && replicas === 0
  const isLeft = world.kubernetes.pods.some((pod) => isThere(pod, pool) && pod.ordinal >= replicas)
  if (isLeft && !isAsleep) {
    throw new BrokenInvariant('STG3: a set was made again with fewer pods')
  }
  sets[pool] = made
  return true
}

function isThere({ pool, isDeleting }: ModelledPod, of: Pool): boolean {
  return pool === of && !isDeleting
}

function onSet(
  world: World,
  at: { readonly pool: Pool; readonly set: { uid: string; resourceVersion: string } },
  effect: (set: ModelledSet) => void,
): boolean {
  const found = world.kubernetes.sets[at.pool]
  if (found?.uid !== at.set.uid || `${found.version}` !== at.set.resourceVersion) return false
  effect(found)
  found.version += 1
  found.generation += 1
  return true
}

function onClaim(
  world: World,
  { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
  effect: (claim: ModelledClaim) => void,
): boolean {
  const found = world.kubernetes.claims.find((claim) => claim.uid === uid)
  if (found === undefined || `${found.version}` !== resourceVersion) return false
  effect(found)
  found.version += 1
  return true
}

function hasPods({ kubernetes }: World, pool: Pool): boolean {
  return kubernetes.pods.some((pod) => pod.pool === pool)
}

/** SD2: by one, with the recorded node decommissioned by this operation, and empty; or asleep. */
function checkShrink(world: World, set: ModelledSet, replicas: number): void {
  const { status, wish } = world.cluster
  if (status?.operation?.type === 'Hibernate' && wish.hibernate) return
  for (let ordinal = replicas; ordinal < set.replicas; ordinal++) checkTaken(world, ordinal)
}

function checkTaken(world: World, ordinal: number): void {
  const operation = world.cluster.status?.operation
  const claim = world.kubernetes.claimAt('nodes', ordinal)
  const node = world.store.nodeOf(claim?.uid ?? '')
  if (claim === undefined || node === undefined) return
  checkConfirmed(world, node)
  if (claim.drained?.nodeID !== node.id) throw new BrokenInvariant('SD5: no mark')
  const target = operation?.targets?.find((one) => one.ordinal === ordinal)
  if (target?.nodeID !== node.id) throw new BrokenInvariant('SD1: another node was recorded')
}

function checkConfirmed({ store, cluster }: World, { id, state, operation }: ModelledNode): void {
  const isEmpty = store.replicasOn(id) === 0
  const isOurs = operation === cluster.status?.operation?.id
  if (state !== 'decommissioned' || !isEmpty || !isOurs) {
    throw new BrokenInvariant(`SD2: ${id} was not confirmed`)
  }
}

function checkEtcdShrink(world: World, set: ModelledSet, replicas: number): void {
  if (world.cluster.status?.operation?.type === 'Hibernate') return
  for (let ordinal = replicas; ordinal < set.replicas; ordinal++) {
    const isMember = world.etcd.members.some(({ name }) => name === `c-etcd-${ordinal}`)
    if (isMember) throw new BrokenInvariant('ETS1: a pod of a member was taken away')
  }
}

/** Nobody can have heard of what happened since the last look of the controllers. */
function isKnown({ tickedAtMs }: World, { changedAtMs }: ModelledPod): boolean {
  return changedAtMs <= tickedAtMs
}

/** At most `maxUnavailable` pods are down when another one is stopped, but for one that went down at the same moment. */
function checkPartition(world: World, set: ModelledSet, partition: number): void {
  const pods = world.kubernetes.pods.filter(({ pool }) => pool === 'nodes')
  const stopped = pods.filter(
    ({ ordinal, revision, isReady }) =>
      ordinal >= partition && ordinal < set.partition && revision !== revisionOf(set) && isReady,
  )
  if (stopped.length === 0) return
  const isStale = (pod: ModelledPod) => pod.revision !== revisionOf(set)
  const down = Array.from({ length: set.replicas }, (_, ordinal) =>
    world.kubernetes.podAt('nodes', ordinal),
  ).filter((pod) => pod === undefined || (!pod.isReady && !isStale(pod) && isKnown(world, pod)))
  const cap = Math.max(1, Math.floor((set.replicas - 1) / 2))
  const max = Math.min(cap, world.cluster.wish.maxUnavailable)
  if (stopped.length + down.length > max) {
    throw new BrokenInvariant(`RO1: ${stopped.length} pods stopped with ${down.length} down`)
  }
  const without = pods.find(
    (pod) => pod.isReady && !isStale(pod) && hasNoModels(pod) && isKnown(world, pod),
  )
  if (without !== undefined) {
    throw new BrokenInvariant(`GT3: another pod gets what left ${without.ordinal} without models`)
  }
}

function checkPod(world: World, pod: ModelledPod, name: string): void {
  if (world.cluster.deletedAtMs !== undefined) return
  const claim = world.kubernetes.claims.find(({ uid }) => uid === pod.claimUID)
  const isDead = claim?.isDeleting === true
  if (pod.isReady && !isDead) throw new BrokenInvariant(`RO4: ${name} was ready`)
}

/** CLM1. */
function checkClaim(world: World, claim: ModelledClaim): void {
  const { wish, uid, deletedAtMs } = world.cluster
  if (deletedAtMs !== undefined) {
    if (wish.deletesClaims && claim.clusterUID === uid) return
    throw new BrokenInvariant('DL1: a claim was deleted that the policy keeps')
  }
  if (claim.pool === 'etcd') {
    const isMember = world.etcd.members.some(({ claimUID }) => claimUID === claim.uid)
    if (isMember) throw new BrokenInvariant('ETM4: the claim of a member was deleted')
    return
  }
  checkNodeClaim(world, claim)
}

function checkNodeClaim(world: World, claim: ModelledClaim): void {
  const node = world.store.nodeOf(claim.uid)
  const isLeft = claim.ordinal >= (world.kubernetes.sets.nodes?.replicas ?? 0)
  const isScaled = world.cluster.wish.deletesClaims && isLeft && node === undefined
  if (claim.drained === undefined && !isScaled) {
    throw new BrokenInvariant('CLM1: a claim without a mark was deleted')
  }
  if (node !== undefined && node.state !== 'decommissioned') {
    throw new BrokenInvariant('CLM1: the claim of a node that serves was deleted')
  }
}

/** CH1: what an earlier operation has drained is undrained before. */
function checkDrain(world: World, operation: string): void {
  const other = world.store.nodes
    .values()
    .find((node) => node.state === 'draining' && node.operation !== operation)
  if (other !== undefined) throw new BrokenInvariant('SD4: two drains at once')
}

function checkDecommission(world: World, nodeID: string, operation: string): void {
  const node = world.store.nodes.get(nodeID)
  if (node === undefined || node.state === 'decommissioned') return
  const isLost = !world.kubernetes.claims.some(({ uid }) => uid === node.claimUID)
  if (isLost) return
  const isDrained = node.state === 'draining' && node.operation === operation
  if (!isDrained || world.store.replicasOn(nodeID) > 0) {
    throw new BrokenInvariant('SD2: a node was decommissioned that was not drained')
  }
}

/** ETM2: while another member is not well, nothing changes. */
function checkEtcdChange(world: World): void {
  const view = world.etcd.view(world.nowMs)
  if (view === 'unreachable' || !view.hasQuorum) throw new BrokenInvariant('ETM1: no quorum')
  const ill = view.members.filter(({ isHealthy, isLearner }) => !isHealthy || isLearner)
  if (ill.length > 1) throw new BrokenInvariant('ETM2: several members change at once')
}
