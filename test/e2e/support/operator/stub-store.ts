// The store and the etcd of one cluster, as its pods and volumes let them be. Tests break them by the switches.

import { ConflictError, ConnectionError } from '../../../../clients/typescript/src/errors.ts'
import type { EtcdAdmin, LeaderMove } from '../../../../operator/etcd/etcd-admin.ts'
import { EtcdRefusal } from '../../../../operator/etcd/etcd-refusal.ts'
import type { EtcdView } from '../../../../operator/machines/observed/etcd-view.ts'
import type { StoreView } from '../../../../operator/machines/observed/store-view.ts'
import type { NodeOperation, StoreAdmin } from '../../../../operator/store/store-admin.ts'
import { ModelledEtcd } from '../../../support/operator/modelled-etcd.ts'
import { BrokenInvariant, ModelledStore } from '../../../support/operator/modelled-store.ts'

/** A pod that is ready, and the volume that it runs over. */
export interface ReadyPod {
  readonly name: string
  readonly uid: string
  readonly claimUID: string
}

/** What runs and what is kept. */
export interface Surroundings {
  readonly nodes: readonly ReadyPod[]
  readonly etcd: readonly ReadyPod[]
  readonly volumes: ReadonlySet<string>
}

/** What a store is made to answer besides what it would. */
export interface StoreSwitches {
  /** No node answers. */
  isUnreachable: boolean
  /** Nothing moves, and the store says that its shards wait. */
  isStalled: boolean
  /** Nothing moves, and the store says that its shards do. */
  standsStill: boolean
  /** Each node has the pod name of another one, as after a wrong name in a start. */
  namesAreSwapped: boolean
  /** Drains and decommissions are told with the id of an operation of before. */
  toldOperation: string | undefined
}

/**
 * Contract:
 * - A node joins when its pod is ready over a volume that no node has, and keeps its id with the volume.
 * - `settle` is one look of the store's controller at what runs. It throws BrokenInvariant when the last replica of a shard is
 *   gone, and when nodes were drained for two operations at once.
 */
export class StubStore implements StoreAdmin {
  readonly model: ModelledStore
  readonly switches: StoreSwitches = {
    isUnreachable: false,
    isStalled: false,
    standsStill: false,
    namesAreSwapped: false,
    toldOperation: undefined,
  }
  /** How often it was asked, which each pass over a cluster with pods does once. */
  looks = 0
  /** What steered it, in order. */
  readonly deeds: string[] = []
  readonly #prefix: string
  readonly #hasJoined = new Set<string>()
  readonly #podUIDs = new Map<string, string>()
  #ids = 0
  #isDrainedTwice = false

  constructor(prefix: string, replicationFactor: number) {
    this.#prefix = prefix
    this.model = new ModelledStore(replicationFactor)
  }

  settle({ nodes, volumes }: Surroundings): void {
    if (this.#isDrainedTwice) throw new BrokenInvariant('two operations drain nodes')
    for (const pod of nodes) this.#join(pod)
    this.model.isStuck = this.switches.isStalled || this.switches.standsStill
    const present = nodes.flatMap(({ claimUID }) => this.model.nodeOf(claimUID)?.id ?? [])
    this.model.tick({ present: new Set(present), volumes })
  }

  /** Gives a node a replica, as a balancer would: the model moves none to a node that has just joined. */
  give(nodeID: string): void {
    const shard = this.model.shards.find((one) => !one.some(({ node }) => node === nodeID))
    shard?.splice(0, 1, { node: nodeID, inSync: true })
  }

  /** A node refuses to start over a volume that was decommissioned or forgotten. */
  mayStart(claimUID: string): boolean {
    const node = this.model.nodeOf(claimUID)
    return node === undefined ? !this.#hasJoined.has(claimUID) : node.state !== 'decommissioned'
  }

  #join({ name, uid, claimUID }: ReadyPod): void {
    const known = this.model.nodeOf(claimUID)
    const isNewStart = this.#podUIDs.get(claimUID) !== uid
    this.#podUIDs.set(claimUID, uid)
    if (known !== undefined) {
      if (isNewStart) known.incarnation += 1
      return
    }
    if (this.#hasJoined.has(claimUID)) return
    this.#hasJoined.add(claimUID)
    this.#ids += 1
    const id = `${this.#prefix}${this.#ids}`
    this.model.nodes.set(id, {
      id,
      name,
      claimUID,
      registeredAt: Date.now(),
      state: 'serving',
      incarnation: 1,
    })
  }

  async look(): Promise<StoreView | 'unreachable'> {
    this.looks += 1
    const view = this.switches.isUnreachable ? 'unreachable' : this.model.view(Date.now())
    if (view === 'unreachable') return view
    const { toldOperation, namesAreSwapped, standsStill } = this.switches
    const { nodes } = view
    return {
      ...view,
      nodes: nodes.map((node, at) => ({
        ...node,
        ...(namesAreSwapped ? { name: nodes.at(at - 1)?.name ?? '' } : {}),
        ...(standsStill && node.emptying !== undefined
          ? { emptying: { ...node.emptying, moving: 1, waiting: 0 } }
          : {}),
        ...(toldOperation === undefined || node.operation === undefined
          ? {}
          : { operation: toldOperation }),
      })),
    }
  }

  async handOver(nodeID: string): Promise<void> {
    this.#do(`hand over ${nodeID}`)
  }

  async drain({ nodeID, operation }: NodeOperation): Promise<void> {
    this.#do(`drain ${nodeID}`)
    const node = this.model.nodes.get(nodeID)
    if (node?.state === 'draining' && node.operation !== operation) throw conflict()
    const draining = this.model.nodes.values().filter(({ state }) => state === 'draining')
    this.#isDrainedTwice ||= draining.some((other) => other.operation !== operation)
    this.model.drain(nodeID, operation)
  }

  async undrain({ nodeID, operation }: NodeOperation): Promise<void> {
    this.#do(`undrain ${nodeID}`)
    this.model.undrain(nodeID, operation)
  }

  async decommission({ nodeID, operation }: NodeOperation): Promise<void> {
    this.#do(`decommission ${nodeID}`)
    this.model.decommission(nodeID, operation)
  }

  async forget(nodeID: string): Promise<void> {
    this.#do(`forget ${nodeID}`)
    this.model.forget(nodeID)
  }

  #do(deed: string): void {
    if (this.switches.isUnreachable) throw new ConnectionError('no node answers')
    this.deeds.push(deed)
  }
}

function conflict(): ConflictError {
  return new ConflictError({
    message: 'another operation has the node',
    code: 'CONFLICT',
    status: 409,
    headers: new Headers(),
    retryAfterMs: undefined,
    body: {},
  })
}

/** Contract: as EtcdAdmin, over members that answer while their pods are ready. */
export class StubEtcd implements EtcdAdmin {
  readonly model = new ModelledEtcd()
  isUnreachable = false

  settle({ etcd }: Surroundings): void {
    this.model.tick(new Set(etcd.map(({ claimUID }) => claimUID)))
  }

  async look(): Promise<EtcdView | 'unreachable'> {
    return this.isUnreachable ? 'unreachable' : this.model.view(Date.now())
  }

  async addMember(podName: string): Promise<void> {
    this.#reach()
    if (this.model.members.some(({ name }) => name === podName)) return
    this.model.add(podName, undefined, true)
  }

  async promoteMember(memberID: string): Promise<void> {
    this.#reach()
    const member = this.model.members.find(({ id }) => id === memberID)
    if (member !== undefined) member.isLearner = false
  }

  async removeMember(memberID: string): Promise<void> {
    this.#reach()
    this.model.members = this.model.members.filter(({ id }) => id !== memberID)
  }

  async moveLeader({ toMemberID }: LeaderMove): Promise<void> {
    this.#reach()
    const { members } = this.model
    const first = members.filter(({ id }) => id === toMemberID)
    this.model.members = [...first, ...members.filter(({ id }) => id !== toMemberID)]
  }

  async defragment(memberID: string): Promise<void> {
    this.#reach()
    const member = this.model.members.find(({ id }) => id === memberID)
    if (member !== undefined) member.dbBytes = member.usedBytes
  }

  async disarmAlarm(): Promise<void> {
    this.#reach()
    for (const member of this.model.members) member.hasAlarm = false
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #reach(): void {
    if (this.isUnreachable || !this.model.hasQuorum) {
      throw new EtcdRefusal('again', 'the leader of etcd does not answer')
    }
  }
}
