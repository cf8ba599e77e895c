// What operators can see and ask on any node of the cluster. Wishes for nodes are commits that any node
// makes; moves, transfers and reports are asked of the elected controller.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError, isServiceError, messageOf } from '../../../lib/errors.ts'
import { knownCounts, type KnownCounts } from '../../cluster/known-counts.ts'
import { knownNodes } from '../../cluster/known-nodes.ts'
import type { ClusterMap } from '../../cluster/cluster-map.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { ShardQuery } from '../core/cluster-report.ts'
import type { ClusterReport, NodeReport, ShardReport } from '../core/reported-cluster.ts'
import { requestOfNode, type NodeRequest, type NodeWish } from '../core/node-requests.ts'
import type { Refusal } from '../core/operator-requests.ts'
import { decodeNode, nodeKey, type ShardPath } from '../core/records/cluster-codec.ts'
import { holdLeftMs, type NodeRecord } from '../core/records/node-record.ts'
import type { NodeDisk } from '../core/view/node-view.ts'
import type { Controller } from './controller.ts'
import type { ControllerPeers } from './controller-calls.ts'
import {
  answerRequest,
  SIZES_MAX,
  type ControllerAnswer,
  type ControllerRequest,
} from './controller-requests.ts'
import type { NodeTold, ShardSize } from './node-told.ts'

/** The election of a new controller takes at most 15 s after its predecessor fell silent. */
const ASK_MS = 15_000
const RETRY_MS = 200
/** A controller hears of a change within 3 s. Until then a report may show the time before it. */
const HEARD_MS = 3000
const LOOK_MS = 20
/** Attempts of a wish for a node whose record changes meanwhile. */
const ATTEMPTS_MAX = 10
const SIZES_MS = 30_000
/** A report has them for a minute. */
const DISK_MS = 10_000

/** The parts of a node by which it answers operators. */
export interface ClusterAdminOptions {
  /** The cluster's name. */
  readonly name: string
  readonly node: NodeId
  readonly coordination: Coordination
  readonly map: ClusterMap
  readonly controller: Controller
  readonly peers: ControllerPeers
  readonly clock: Clock
  /** Makes the id of an operation, unique among all. */
  readonly newOperation: () => string
}

/**
 * Contract:
 * - Requests resolve with undefined when their change is stored and reports show it, and with a refusal when
 *   nothing has changed. What follows from them takes its time, and `report` shows it.
 * - They reject with UNAVAILABLE if neither the store nor a controller answers in time; then the outcome is
 *   unknown or nothing happened, and asking again is harmless.
 * - `controller`, `problem`, `known` and `knownNodes` answer at once, with what is known.
 */
export class ClusterAdmin {
  readonly name: string
  readonly #with: ClusterAdminOptions

  constructor(options: ClusterAdminOptions) {
    this.name = options.name
    this.#with = options
  }

  /** The node that is elected as controller; undefined while none is. */
  controller(): NodeId | undefined {
    return this.#with.map.controller()
  }

  /** Why nothing can be changed now; undefined when all is well. */
  problem(): string | undefined {
    const { map, controller } = this.#with
    const { health } = map
    if (health.kind === 'frozen') return `the cluster is frozen: ${health.reason}`
    if (health.kind === 'stale') {
      const since = new Date(health.sinceMs).toISOString()
      return `the coordination store has not answered since ${since}: ${health.reason}`
    }
    const { frozen } = controller
    if (frozen !== undefined) return `the controller is frozen: ${frozen}`
    return map.controller() === undefined ? 'no controller is elected' : undefined
  }

  /** As this node knows it, without asking anybody. */
  known(): KnownCounts {
    const { map, clock } = this.#with
    return knownCounts(map, clock.nowMs())
  }

  /** As this node knows them. */
  knownNodes(): readonly NodeReport[] {
    return knownNodes(this.#with.map, this.#with.clock.nowMs())
  }

  async report(): Promise<ClusterReport> {
    const answer = await this.#ask({ kind: 'report' })
    if (answer.kind === 'report') return answer.report
    throw unexpected(answer)
  }

  /** The first shards that the query wants, in the order of their paths. */
  async listShards(query: ShardQuery): Promise<readonly ShardReport[]> {
    const answer = await this.#ask({ kind: 'shards', query })
    if (answer.kind === 'shards') return answer.shards
    throw unexpected(answer)
  }

  async requestOfNode(wish: NodeWish): Promise<Refusal | undefined> {
    const { newOperation, clock } = this.#with
    const request: NodeRequest = { ...wish, operation: newOperation(), nowMs: clock.nowMs() }
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const outcome = await this.#tryNode(request)
      if (outcome === 'changed') continue
      if ('refused' in outcome) return outcome
      await this.#heard(outcome)
      return undefined
    }
    throw new ServiceError('UNAVAILABLE', `the record of ${wish.node} changes all the time`)
  }

  requestMove(request: {
    readonly path: ShardPath
    readonly from: NodeId
    readonly to: NodeId
  }): Promise<Refusal | undefined> {
    return this.#request({ kind: 'move', ...request })
  }

  requestTransfer(request: {
    readonly path: ShardPath
    readonly to: NodeId
  }): Promise<Refusal | undefined> {
    return this.#request({ kind: 'transfer', ...request })
  }

  /** Tells the controller the sizes of the shards that this node leads, now and then. Answers how to stop. */
  keepTellingSizes(sizes: () => Promise<readonly ShardSize[]>): () => Promise<void> {
    return this.#with.clock.every(SIZES_MS, async () => {
      const some = (await sizes()).slice(0, SIZES_MAX)
      if (some.length > 0) this.#tell({ sizes: some })
    })
  }

  /** Tells the controller about the disk of this node, now and then. Answers how to stop. */
  keepTellingDisk(look: () => NodeDisk | undefined): () => Promise<void> {
    const { node, clock } = this.#with
    return clock.every(DISK_MS, async () => {
      const disk = look()
      if (disk !== undefined) this.#tell({ sizes: [], disk: { node, disk } })
    })
  }

  #tell(told: NodeTold): void {
    const { controller, map, peers } = this.#with
    if (controller.elected !== undefined) return controller.elected.hear(told)
    const elected = map.controller()
    const isReachable = elected !== undefined && map.addressOf(elected) !== undefined
    if (isReachable) peers.tell(elected, told)
  }

  /** Answers the record that is stored then. */
  async #tryNode(request: NodeRequest): Promise<NodeRecord | Refusal | 'changed'> {
    const { coordination } = this.#with
    const entry = await coordination.get(nodeKey(request.node))
    const stored = entry && { record: decodeNode(entry.value), revision: entry.modRevision }
    const accepted = requestOfNode({ nodes: new Map([[request.node, { stored }]]) }, request)
    if ('refused' in accepted) return accepted
    const { record, commit } = accepted
    if (commit === undefined) return record
    const outcome = await coordination.commit(commit)
    return outcome.kind === 'committed' ? record : 'changed'
  }

  /** The controller hears of the commit by its watch, a moment later. */
  async #heard(record: NodeRecord): Promise<void> {
    const { id, state } = record
    const { clock } = this.#with
    const untilMs = clock.monotonicMs() + HEARD_MS
    // A report looks at the whole cluster, so each one comes after twice the pause.
    for (let pauseMs = LOOK_MS; clock.monotonicMs() < untilMs; pauseMs *= 2) {
      try {
        const { nodes } = await this.report()
        const found = nodes.find((node) => node.id === id)
        // A forgotten node is listed no more.
        if (state === 'forgotten' && found === undefined) return
        if (found !== undefined && isShownBy(found, record, clock.nowMs())) return
      } catch {
        return // the change is stored, though no controller reports it now
      }
      await clock.sleep(pauseMs)
    }
  }

  async #request(request: ControllerRequest): Promise<Refusal | undefined> {
    const answer = await this.#ask(request)
    if (answer.kind === 'accepted') return undefined
    if (answer.kind === 'refused') return { refused: answer.reason }
    throw unexpected(answer)
  }

  /** Asks the elected controller, and asks again while it is certain that nothing happened. */
  async #ask(request: ControllerRequest): Promise<ControllerAnswer> {
    const { clock } = this.#with
    const untilMs = clock.monotonicMs() + ASK_MS
    for (;;) {
      const leftMs = untilMs - clock.monotonicMs()
      try {
        return await this.#askOnce(request, leftMs)
      } catch (error) {
        if (!isHarmless(error, request)) throw error
        if (leftMs <= RETRY_MS) {
          throw new ServiceError('UNAVAILABLE', `no controller answers: ${messageOf(error)}`)
        }
        await clock.sleep(RETRY_MS)
      }
    }
  }

  async #askOnce(request: ControllerRequest, timeoutMs: number): Promise<ControllerAnswer> {
    const { controller, map, peers, node } = this.#with
    if (controller.elected !== undefined) return answerRequest(controller.elected, request)
    const elected = map.controller()
    if (elected === undefined || elected === node) {
      throw new ServiceError('NOT_LEADER', this.problem() ?? 'no controller is elected yet')
    }
    return peers.ask(elected, request, timeoutMs)
  }
}

function isShownBy(node: NodeReport, record: NodeRecord, nowMs: number): boolean {
  const hold = holdLeftMs(record, nowMs) > 0 ? record.hold : undefined
  const isSame = node.state === record.state && node.operationId === record.operationId
  return isSame && node.hold?.untilMs === hold?.untilMs
}

/** Whether the request may be repeated: it did not happen, or it changes nothing. */
function isHarmless(error: unknown, { kind }: ControllerRequest): boolean {
  if (!isServiceError(error)) return false
  if (error.code === 'NOT_LEADER') return true
  if ('happened' in error && error.happened === 'nothing') return true
  return (kind === 'report' || kind === 'shards') && error.code === 'UNAVAILABLE'
}

function unexpected({ kind }: ControllerAnswer): ServiceError {
  return new ServiceError('INTERNAL', `the controller has answered another question: ${kind}`)
}
