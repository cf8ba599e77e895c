// A small cluster in one process, from the code that runs in production: journals, replicated shards,
// calls between nodes, transactions, controller and membership. Modelled are the disks, the network below the
// peer protocol, the control plane's store and the clocks. All of it happens in virtual time.

import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import { isServiceError, messageOf } from '../../../../lib/errors.ts'
import type { Log } from '../../../../lib/log.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { recoverCluster } from '../../../../node/cluster/recovery/control-plane-recovery.ts'
import { CONTROLLER_CATALOG } from '../../../../node/steering/controller-catalog.ts'
import { IDEMPOTENCY_TABLE } from '../../../../node/transactions/idempotency.ts'
import { MemoryNetwork } from '../../../../node/peer/channels/memory-network.ts'
import { insert, WRITE, writesOf } from '../../servers/swarm-harness.ts'
import { Dice } from '../dice.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import { VirtualTime } from '../virtual-time.ts'
import { askNode, TABLE } from './asked-node.ts'
import { ClusterClient, type ClientSurroundings } from './cluster-clients.ts'
import { calmNetwork, HARM, healNetwork, MINUTES_MS } from './cluster-faults.ts'
import { ClusterHistory } from './cluster-history.ts'
import { FIRST_BALANCE } from './cluster-keys.ts'
import { LOAN_MS, LOAN_TABLE, PASSING_TABLE } from './table-clients.ts'
import {
  LOAN_KINDS,
  PASSING_KINDS,
  planHistory,
  plansAny,
  type ClusterPlan,
  type PlannedClient,
  type PlannedFault,
  type PlanOptions,
} from './cluster-plan.ts'
import { checkReplicasEqual, installedCells, unrestOf } from './cluster-rest.ts'
import { ClusterWatch } from './cluster-watch.ts'
import { NodeClock } from './node-clock.ts'
import { SimulatedNode, stackOf, type NodeSurroundings } from './simulated-node.ts'
import { PlaneWay, SimulatedPlane } from './simulated-plane.ts'
import { passUntil } from './world-time.ts'
import { WorldTurns } from './world-turns.ts'

const START_MS = 60_000
/** From the healing to rest: a lease, an election, a lag limit, and twice the silence of a transaction. */
const REST_MAX_MS = 60_000
const WATCH_MS = 50
/** How often states of disks are kept, where one is to go back. */
const REMEMBER_MS = 300
const OPERATOR = 'operator'
/** How often an operator tries to recover a control plane. */
const RECOVERY_MS = 700
const NOT_REPORTED = 'have not reported'
/** More than leaderships move for one shard at the end. */
const END_ATTEMPTS = 5

export interface ClusterSimulationOptions extends PlanOptions {
  /** Default: what follows from the seed and the other options. */
  readonly plan?: ClusterPlan | undefined
  readonly log?: Log
}

export interface ClusterSimulationResult {
  /** A digest of all events. Equal seeds have equal traces. */
  readonly trace: number
  readonly acknowledged: number
  readonly virtualMs: number
  /** The codes of errors that clients heard. */
  readonly codes: readonly string[]
  /** What the longest operation before the healing took. */
  readonly longestMs: number
}

/** Throws BrokenInvariant for a broken promise, and when the cluster does not recover. */
export async function simulateCluster(
  options: ClusterSimulationOptions,
): Promise<ClusterSimulationResult> {
  const turns = new WorldTurns()
  const give = turns.take()
  try {
    const simulation = new ClusterSimulation(
      options.plan ?? planHistory(options),
      turns,
      options.log,
    )
    return await simulation.run()
  } finally {
    give()
  }
}

class ClusterSimulation {
  readonly #plan: ClusterPlan
  readonly #turns: WorldTurns
  readonly #time: VirtualTime
  readonly #network: MemoryNetwork
  readonly #plane: SimulatedPlane
  readonly #surroundings: NodeSurroundings
  readonly #nodes: SimulatedNode[] = []
  readonly #history: ClusterHistory
  readonly #watch = new ClusterWatch()
  #trace = 0
  #directories = 0
  /** Nodes whose disks are gone. */
  readonly #lost: string[] = []
  #losses = 0
  #isTroubled = true
  #busyClients = 0
  #longestMs = 0

  constructor(plan: ClusterPlan, turns: WorldTurns, log: Log | undefined) {
    const { seed, hasSecret, isTight, keys } = plan
    const time = new VirtualTime(seededRandom(seed))
    this.#plan = plan
    this.#turns = turns
    this.#time = time
    this.#history = new ClusterHistory(keys)
    this.#network = new MemoryNetwork(new NodeClock(time, {}))
    this.#plane = new SimulatedPlane(time)
    this.#surroundings = {
      time,
      network: this.#network,
      plane: this.#plane,
      hasSecret,
      isTight,
      log,
    }
    for (let i = 0; i < plan.nodes; i++) this.#addNode()
  }

  async run(): Promise<ClusterSimulationResult> {
    // In production each of these ends the process.
    const onUnhandled = (error: unknown): void => void this.#watch.broken.push(stackOf(error))
    process.on('unhandledRejection', onUnhandled)
    try {
      return await this.#live()
    } finally {
      process.off('unhandledRejection', onUnhandled)
    }
  }

  async #live(): Promise<ClusterSimulationResult> {
    const time = this.#time
    await this.#open()
    this.#repeat(WATCH_MS, () => this.#look())
    const { clients, faults, troubleMs } = this.#plan
    if (faults.some(({ kind }) => kind.includes('_back'))) {
      this.#repeat(REMEMBER_MS, () => this.#remember())
    }
    for (const planned of clients) void this.#useCluster(planned, time.nowMs)
    for (const planned of faults) time.after(planned.atMs, () => this.#doHarm(planned))
    await this.#pass(troubleMs)
    this.#heal()
    await this.#rest()
    await this.#checkEnd()
    const { acknowledged } = this.#history
    const codes = this.#nodes.flatMap((node) => node.codes)
    const longestMs = this.#longestMs
    return { trace: this.#trace, acknowledged, virtualMs: time.nowMs, codes, longestMs }
  }

  async #open(): Promise<void> {
    calmNetwork(this.#network, this.#nodes)
    for (const node of this.#nodes) node.start()
    const time = this.#time
    await this.#until(
      () => this.#nodes.every(({ store }) => store?.ready() === true),
      START_MS,
      'start',
    )
    const [node] = this.#nodes
    if (node === undefined) return
    const { accounts, splitKeys } = this.#plan.keys
    const inserts = accounts.map((key) => insert(key, { balance: FIRST_BALANCE }))
    const opening = askNode(time, node, async (store) => {
      await store.createTable(TABLE, { split_keys: [...splitKeys] })
      await store.batch(writesOf(TABLE, { inserts }), WRITE)
    })
    const told = await this.#when(opening)
    await this.#openOthers(node)
    if (told.kind === 'ok') return
    throw new BrokenInvariant(`the table does not open: ${JSON.stringify(told)}`)
  }

  /** The tables that the operations of this history need. */
  async #openOthers(node: SimulatedNode): Promise<void> {
    const plan = this.#plan
    if (plansAny(plan, ['once', 'keep'])) await this.#openIdempotency(node)
    const others = [
      { kinds: PASSING_KINDS, name: PASSING_TABLE, request: {} },
      {
        kinds: LOAN_KINDS,
        name: LOAN_TABLE,
        request: { schema: { ttl_duration: `${LOAN_MS / 1000}s` } },
      },
    ]
    for (const { name, request } of others.filter(({ kinds }) => plansAny(plan, kinds))) {
      await this.#when(askNode(this.#time, node, (store) => store.createTable(name, request)))
    }
  }

  /** With two shards instead of sixteen, which would be most of the work of a history. */
  async #openIdempotency({ life }: SimulatedNode): Promise<void> {
    const admin = must(life?.opened?.admin, 'the administration of tables')
    const request = { split_keys: ['8'], schema: { ttl_duration: '1h' } }
    await this.#when(admin.createUnchecked(IDEMPOTENCY_TABLE, request))
  }

  #addNode(): SimulatedNode {
    this.#directories += 1
    const seed = Math.floor(this.#time.random() * 1e9)
    const node = new SimulatedNode(`n${this.#directories}`, seed, this.#surroundings)
    if (this.#plan.hasWrongClocks) {
      node.clockRate = this.#time.between(0.996, 1.004)
      node.clockOffsetMs = this.#time.between(-250, 250)
    }
    this.#nodes.push(node)
    return node
  }

  #clientParts(): ClientSurroundings {
    return {
      time: this.#time,
      history: this.#history,
      keys: this.#plan.keys,
      nodes: () => this.#nodes.filter(({ store }) => store !== undefined),
      note: (event) => this.#note(event),
    }
  }

  async #useCluster({ name, operations }: PlannedClient, beganMs: number): Promise<void> {
    const time = this.#time
    const client = new ClusterClient(name, this.#clientParts())
    this.#busyClients += 1
    for (const operation of operations) {
      const pauseMs = beganMs + operation.atMs - time.nowMs
      if (pauseMs > 0) await new Promise<void>((resolve) => time.after(pauseMs, resolve))
      if (!this.#isTroubled) break
      const startedMs = time.nowMs
      await client.perform(operation)
      this.#longestMs = Math.max(this.#longestMs, time.nowMs - startedMs)
    }
    this.#busyClients -= 1
  }

  #note(event: string): void {
    this.#trace = crc32(event, this.#trace)
    this.#surroundings.log?.debug(event)
  }

  #repeat(periodMs: number, run: () => void): void {
    const again = (): void => {
      run()
      this.#time.after(this.#time.between(0.5, 2 * periodMs), again)
    }
    again()
  }

  #doHarm({ kind, seed }: PlannedFault): void {
    const time = this.#time
    const dice = Dice.of(seed)
    const node = dice.pick(this.#nodes)
    if (!this.#isTroubled || node === undefined) return
    this.#note(`${kind} ${node.id} ${time.nowMs}`)
    HARM[kind]({
      time,
      dice,
      network: this.#network,
      plane: this.#plane,
      nodes: this.#nodes,
      node,
      startLater: (one, afterMs) =>
        time.after(afterMs, () => {
          if (this.#nodes.includes(one)) one.start()
        }),
      replace: (lost) => this.#replace(lost),
      mayLose: () => this.#losses++ === 0,
      mayLeap: !plansAny(this.#plan, LOAN_KINDS),
      mayForgetTables: !plansAny(this.#plan, PASSING_KINDS),
      recover: () => this.#recover(),
    })
  }

  #replace(lost: SimulatedNode): void {
    lost.kill()
    this.#lost.push(lost.id)
    this.#nodes.splice(this.#nodes.indexOf(lost), 1)
    const fresh = this.#addNode()
    this.#time.after(this.#time.between(50, 3000), () => fresh.start())
  }

  #remember(): void {
    if (!this.#isTroubled) return
    for (const node of this.#nodes) node.remember()
    this.#plane.remember()
  }

  /**
   * An operator with `quarry cluster recover`, until all nodes serve. A node that has seen nothing newer serves on an older
   * control plane, and says nothing of itself before it starts again.
   */
  #recover(): void {
    if (this.#nodes.every(({ store }) => store !== undefined)) return
    const coordination = new PlaneWay(this.#plane, OPERATOR, new NodeClock(this.#time, {}))
    const { shardPrefix } = CONTROLLER_CATALOG
    const again = (): void => this.#time.after(RECOVERY_MS, () => this.#recover())
    void recoverCluster({ coordination, shardPrefix, without: this.#lost }).then(again, (error) => {
      if (!isServiceError(error)) this.#watch.broken.push(stackOf(error))
      if (messageOf(error).includes(NOT_REPORTED)) this.#startAgain()
      again()
    })
  }

  #startAgain(): void {
    for (const node of this.#nodes.filter(({ store }) => store !== undefined)) {
      node.kill()
      this.#time.after(this.#time.between(50, 500), () => node.start())
    }
  }

  #look(): void {
    for (const node of this.#nodes.filter(({ isDamaged }) => isDamaged)) this.#replace(node)
    this.#watch.look(this.#nodes)
  }

  #heal(): void {
    this.#isTroubled = false
    this.#note(`heal ${this.#time.nowMs}`)
    healNetwork(this.#network, this.#nodes)
    this.#plane.heal()
    for (const node of this.#nodes) {
      node.diskMs = [0.1, 1]
      node.refusedRatio = 0
      node.disk.failWrites(undefined)
      node.disk.directory.failNextWrite(false)
      node.life?.clock.setOffset(0)
      node.start()
    }
  }

  /** D23. Faults that were under way heal by themselves, at the latest some seconds later. */
  async #rest(): Promise<void> {
    await this.#pass(3000)
    const isAwake = (): boolean => !this.#nodes.some(({ isFrozen }) => isFrozen)
    await this.#until(isAwake, MINUTES_MS, 'the processes to wake up')
    for (const node of this.#nodes) {
      const undrain = { node: node.id, kind: 'undrain' as const }
      void node.life?.control?.requestOfNode(undrain).catch(() => undefined)
    }
    this.#giveUpLost()
    await this.#until(() => this.#busyClients === 0, REST_MAX_MS, 'the clients to end')
    await this.#comeToRest()
    await this.#useAgain()
    await this.#comeToRest()
  }

  /** An operator says which nodes are gone for good: what only they and one that started again have is not waited for. */
  #giveUpLost(): void {
    for (const node of this.#lost) {
      for (const { life } of this.#nodes) {
        const request = { node, kind: 'decommission' as const }
        void life?.control?.requestOfNode(request).catch(() => undefined)
      }
    }
  }

  async #comeToRest(): Promise<void> {
    const untilMs = this.#time.nowMs + REST_MAX_MS
    while (unrestOf(this.#nodes) !== undefined && this.#time.nowMs < untilMs) {
      for (const node of this.#nodes) node.start()
      await this.#pass(250)
    }
    const unrest = unrestOf(this.#nodes)
    if (unrest !== undefined) throw new BrokenInvariant(`liveness: ${unrest}`)
    // A disk or a control plane that went back may leave replicas that only a person can judge.
    if (this.#plan.faults.some(({ kind }) => kind.includes('_back'))) return
    const leftover = this.#nodes.flatMap(({ life }) => life?.dropped?.leftovers ?? [])[0]
    if (leftover === undefined) return
    throw new BrokenInvariant(`DT1: the replica ${leftover} of a dropped table stays`)
  }

  /** Every node reads everything, and every shard takes a write, while leaders may still be balanced. */
  async #useAgain(): Promise<void> {
    const { registers } = this.#plan.keys
    for (const [at, node] of this.#nodes.entries()) {
      const client = new ClusterClient(`end-${node.id}`, this.#clientParts())
      await this.#succeed(`${node.id} cannot read`, () => client.readAll(node))
      if (plansAny(this.#plan, PASSING_KINDS)) {
        await this.#succeed(`${node.id} cannot create`, () => client.endPassing(node))
      }
      const key = registers[at % registers.length] ?? ''
      const writes = writesOf(TABLE, { inserts: [insert(`${key}-end`, {})] })
      await this.#succeed(`${key} cannot be written`, async () => {
        const told = await askNode(this.#time, node, (store) => store.batch(writes, WRITE))
        return told.kind === 'ok'
      })
    }
  }

  /** A move of a leadership refuses what comes just then, so a failure is tried again. */
  async #succeed(otherwise: string, attempt: () => Promise<boolean>): Promise<void> {
    for (let i = 0; i < END_ATTEMPTS; i++) {
      if (await this.#when(attempt())) return
      await this.#pass(1000)
    }
    throw new BrokenInvariant(`liveness: ${otherwise}`)
  }

  async #checkEnd(): Promise<void> {
    await this.#when(checkReplicasEqual(this.#nodes))
    const installed = await this.#when(installedCells(this.#nodes, this.#plan.keys.cells))
    const [violation] = this.#history.violations(installed)
    if (violation !== undefined) {
      throw new BrokenInvariant(`${violation.rule}: ${violation.description}`)
    }
  }

  get #world(): Parameters<typeof passUntil>[0] {
    return { time: this.#time, turns: this.#turns }
  }

  async #pass(ms: number): Promise<void> {
    const isBroken = (): boolean => this.#watch.broken.length > 0
    const broke = await passUntil(this.#world, this.#time.nowMs + ms, isBroken)
    if (broke) throw new BrokenInvariant(this.#watch.broken.join('; '))
  }

  async #until(isEnough: () => boolean, limitMs: number, what: string): Promise<void> {
    const isOver = (): boolean => isEnough() || this.#watch.broken.length > 0
    await passUntil(this.#world, this.#time.nowMs + limitMs, isOver)
    if (this.#watch.broken.length > 0) throw new BrokenInvariant(this.#watch.broken.join('; '))
    if (!isEnough()) throw new BrokenInvariant(`liveness: waited for ${what}`)
  }

  async #when<Answer>(promise: Promise<Answer>): Promise<Answer> {
    let isSettled = false
    const settled = (): void => void (isSettled = true)
    promise.then(settled, settled)
    await this.#until(() => isSettled, START_MS, 'an answer')
    return promise
  }
}
