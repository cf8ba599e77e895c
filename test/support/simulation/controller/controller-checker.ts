import { crc32 } from 'node:zlib'
import type { PlannedChange } from '../../../../node/controller/core/planned-change.ts'
import {
  CONTROLLER_KEY,
  MOVE_PREFIX,
  configurationKey,
  decodeConfiguration,
  decodeMove,
  decodeRegistration,
  liveKey,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import type { ControllerSettings } from '../../../../node/controller/core/view/controller-settings.ts'
import {
  isBelowMinimum,
  type ReplicaId,
  type ShardConfiguration,
} from '../../../../node/replication/core/configuration.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import type { SimulatedNodes } from './simulated-nodes.ts'
import type { SimulatedStore } from './simulated-store.ts'

/** A shard's configuration in the store. */
export function storedConfiguration(
  store: SimulatedStore,
  path: string,
): ShardConfiguration | undefined {
  const entry = store.get(configurationKey(path))
  return entry && decodeConfiguration(entry.value, entry.modRevision)
}

/** Sees each change of a controller, and says what none of them may do. */
export class ControllerChecker {
  readonly #store: SimulatedStore
  readonly #nodes: SimulatedNodes
  readonly #settings: ControllerSettings
  readonly #attemptsMs = new Map<number, number[]>()
  trace = 0
  committed = 0
  readonly kinds = new Map<string, number>()

  constructor(store: SimulatedStore, nodes: SimulatedNodes, settings: ControllerSettings) {
    this.#store = store
    this.#nodes = nodes
    this.#settings = settings
  }

  /** C6: in no second a controller asks for more changes than promised. */
  attempted(controllerRevision: number, nowMs: number): void {
    const attemptsMs = this.#attemptsMs.get(controllerRevision) ?? []
    this.#attemptsMs.set(controllerRevision, attemptsMs)
    attemptsMs.push(nowMs)
    const { changesPerSecond, changeBurst } = this.#settings
    const most = changesPerSecond + changeBurst
    const first = attemptsMs.at(-1 - most)
    if (first !== undefined && nowMs - first < 1000) {
      throw new BrokenInvariant(`C6: more than ${most} changes within a second`)
    }
    if (attemptsMs.length > 4 * most) attemptsMs.splice(0, 2 * most)
  }

  /** Called after the commit took effect; `before` is the configuration that it replaced. */
  happened(
    change: PlannedChange,
    before: ShardConfiguration | undefined,
    controllerRevision: number,
  ): void {
    const { path, kind } = change
    this.committed += 1
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
    this.trace = crc32(`${this.#store.nowMs} ${path} ${change.reason}`, this.trace)
    if (this.#store.get(CONTROLLER_KEY)?.modRevision !== controllerRevision) {
      this.#fail(change, 'C8: a controller that was deposed changes something')
    }
    this.#checkMoves(change)
    const after = storedConfiguration(this.#store, path)
    if (after === undefined) return
    this.#checkShape(change, after)
    this.#checkPlaces(change, before, after)
    if (before === undefined) return
    this.#checkEpoch(change, before, after)
    this.#checkHold(change, before, after)
    this.#checkInSync(change, before, after)
  }

  /** C1 and C2. */
  #checkShape(change: PlannedChange, after: ShardConfiguration): void {
    const { replicas, inSync, eligible, leader } = after
    if (new Set(replicas).size !== replicas.length) this.#fail(change, 'C1: two on one node')
    const named = [...inSync, ...eligible].map(({ node }) => node)
    if (new Set(named).size !== named.length) this.#fail(change, 'C2: named twice')
    if (!named.every((node) => replicas.includes(node))) this.#fail(change, 'C2: not a replica')
    if (inSync.length === 0) this.#fail(change, 'C2: nobody is in sync')
    if (!isBelowMinimum(after) && eligible.length > 0) {
      this.#fail(change, 'C2: eligible beside a set that is large enough')
    }
    if (leader === undefined) return
    const isIn = inSync.some((member) => equal(member, leader))
    if (!isIn) this.#fail(change, 'C2: the leader is not in sync')
  }

  /** C9: new replicas go to nodes that take them. */
  #checkPlaces(
    change: PlannedChange,
    before: ShardConfiguration | undefined,
    after: ShardConfiguration,
  ): void {
    for (const id of after.replicas) {
      if (before?.replicas.includes(id) === true) continue
      const state = this.#nodes.all.get(id)?.state
      if (state !== 'serving') this.#fail(change, `C9: ${id} is ${state} and gets a replica`)
    }
  }

  /** C4. */
  #checkEpoch(change: PlannedChange, before: ShardConfiguration, after: ShardConfiguration): void {
    if (after.epoch < before.epoch) this.#fail(change, 'C4: the epoch goes back')
    const isSame = equal(before.leader, after.leader)
    if (after.leader !== undefined && !isSame && after.epoch !== before.epoch + 1) {
      this.#fail(change, 'C4: another leader without an epoch of its own')
    }
  }

  /**
   * C15: no transfer that somebody could do without names a node that is held. One from a node that goes may, and
   * so may an election: both depend on who is there.
   */
  #checkHold(change: PlannedChange, before: ShardConfiguration, after: ShardConfiguration): void {
    const { leader } = after
    if (leader === undefined || equal(leader, before.leader)) return
    if (!this.#nodes.isHeld(leader.node)) return
    if (change.kind === 'balance_leaders') this.#fail(change, `C15: ${leader.node} is held`)
    const from = before.leader?.node ?? ''
    if (change.kind === 'hand_over' && this.#nodes.stays(from) && this.#nodes.isHeld(from)) {
      this.#fail(change, `C15: ${from} hands over to ${leader.node}, which is held too`)
    }
  }

  /**
   * C3: what is alive and in sync stays so. Only a trim, and the end of a move, take one replica away, and
   * leave as many as the minimum; the move has brought one before.
   */
  #checkInSync(change: PlannedChange, before: ShardConfiguration, after: ShardConfiguration): void {
    const [was, is] = [this.#alive(before), this.#alive(after)]
    if (is >= was) return
    const isRemoval = change.kind === 'trim' || change.kind === 'advance'
    const most = isRemoval ? 1 : 0
    if (was - is > most) this.#fail(change, `C3: of ${was} alive and in sync ${is} are left`)
    if (is < Math.max(1, before.minInSync)) {
      this.#fail(change, `C3: ${is} alive and in sync, fewer than ${before.minInSync}`)
    }
  }

  /** C7. */
  #checkMoves(change: PlannedChange): void {
    const isStart = change.commit.changes.some(
      ({ key, type }) => type === 'put' && key.startsWith(MOVE_PREFIX),
    )
    if (!isStart) return
    const { movesMax, movesPerNodeMax } = this.#settings
    const incoming = new Map<string, number>()
    let moves = 0
    for (const [, { value }] of this.#store.list(MOVE_PREFIX)) {
      const { to } = decodeMove(value)
      moves += 1
      incoming.set(to, (incoming.get(to) ?? 0) + 1)
    }
    if (moves > movesMax) this.#fail(change, `C7: ${moves} moves at once`)
    const most = Math.max(...incoming.values())
    if (most > movesPerNodeMax) this.#fail(change, `C7: ${most} moves to one node`)
  }

  /** Members whose registration stands: of others nobody can know. */
  #alive({ inSync }: ShardConfiguration): number {
    return inSync.filter(({ node, incarnation }) => {
      const entry = this.#store.get(liveKey(node))
      return entry !== undefined && decodeRegistration(entry.value).incarnation === incarnation
    }).length
  }

  #fail({ operation, kind, path, reason }: PlannedChange, what: string): never {
    throw new BrokenInvariant(`${what} (${operation}, ${kind} of ${path}: ${reason})`)
  }
}

function equal(one: ReplicaId | undefined, other: ReplicaId | undefined): boolean {
  return one?.node === other?.node && one?.incarnation === other?.incarnation
}
