// A cluster under one or several controllers, in virtual time: nodes crash, return, lose their disks and leave,
// zones vanish, learners are slow, answers are lost, operators drain. Then everything heals, and the cluster
// has to come to rest, whole.

import { seededRandom, type Random } from '../../../../lib/random.ts'
import { ControllerCore } from '../../../../node/controller/core/controller-core.ts'
import { CONTROLLER_SETTINGS } from '../../../../node/controller/core/view/controller-settings.ts'
import type { ControllerSettings } from '../../../../node/controller/core/view/controller-settings.ts'
import { ControllerChecker } from './controller-checker.ts'
import { checkHandedOver, checkRest, type RestingCluster } from './rest-checker.ts'
import {
  CATALOG_PREFIX,
  SimulatedController,
  TABLE_PREFIX,
  type ControllerTroubles,
  type MakeController,
} from './simulated-controller.ts'
import { SimulatedNodes } from './simulated-nodes.ts'
import { SimulatedShards } from './simulated-shards.ts'
import { SimulatedStore } from './simulated-store.ts'
import { BrokenInvariant } from '../replication-checker.ts'

const STEP_MS = 100
const NODES_MAX = 14
const TABLES_MAX = 4
const FAULTS_FOR_MS = 40_000
/** Longer than every patience in the settings below. */
const QUIET_MS = 15_000
const REST_MAX_MS = 240_000
const HOLD_MAX_MS = 8000
const HOLD_AT_REST_MS = 6000
/** Two leaderships are handed over in each step, and a node leads a few. */
const HAND_OVER_MAX_MS = 5000

/** Patience is short, so that runs are, and limits are low, so that small clusters meet them. */
export const SIMULATION_SETTINGS: ControllerSettings = {
  ...CONTROLLER_SETTINGS,
  changesPerSecond: 20,
  changeBurst: 5,
  outcomeMaxMs: 4000,
  replaceAfterMs: 8000,
  targetAwayMaxMs: 4000,
  settleMs: 2000,
  movesMax: 6,
}

const FAULTS = [
  /** A node crashes. */
  'crash',
  /** A node starts again. */
  'restart',
  /** A node starts again, and its disk is what it was some time before. */
  'disk_back',
  /** All nodes start again, and so it is with one of them. */
  'disk_back_all',
  /** A node starts again over a damaged directory. */
  'damage',
  /** A node shuts down in order. */
  'leave',
  /** All nodes of a zone crash. */
  'zone',
  /** A node does not reach the store for a while. */
  'cut_off',
  /** A data directory is destroyed. */
  'destroy',
  /** A node joins. */
  'join',
  /** An operator drains a node. */
  'drain',
  /** An operator takes that back. */
  'undrain',
  /** An operator decommissions a node. */
  'decommission',
  /** An operator asks a node to hand its leaderships over. */
  'hold',
  /** A table is created. */
  'create',
  /** A table is dropped. */
  'drop',
  /** A table wants other numbers of replicas. */
  'replicate',
  /** Another controller is elected; the old one does not notice yet. */
  'depose',
  /** Learners are slow for a while. */
  'slow',
  /** The store is slow, and answers are lost. */
  'trouble',
  /** It is fast again. */
  'calm',
] as const

export type ControllerFault = (typeof FAULTS)[number]

/** What a run showed. */
export interface ControllerRun {
  readonly trace: number
  readonly changes: number
  readonly kinds: ReadonlyMap<string, number>
  readonly restMs: number
}

/** Throws BrokenInvariant. The same seed does the same. */
export function simulateController({
  seed,
  faults,
  make = (start) => new ControllerCore(start),
}: {
  readonly seed: number
  readonly faults?: readonly ControllerFault[]
  readonly make?: MakeController
}): ControllerRun {
  const world = new SimulatedCluster(seed, make, faults)
  return world.run()
}

class SimulatedCluster {
  readonly #random: Random
  readonly #store = new SimulatedStore()
  readonly #nodes = new SimulatedNodes(this.#store)
  readonly #shards: SimulatedShards
  readonly #checker: ControllerChecker
  readonly #make: MakeController
  readonly #faults: readonly ControllerFault[]
  readonly #zones: readonly string[]
  readonly #tables = new Map<string, { replicationFactor: number; minInSync: number }>()
  readonly #troubles: ControllerTroubles = {
    watchDelayMs: 0,
    commitDelayMs: 200,
    lostAnswerRatio: 0,
  }
  #controllers: SimulatedController[] = []
  #named = 0

  constructor(seed: number, make: MakeController, faults?: readonly ControllerFault[]) {
    this.#random = seededRandom(seed)
    this.#make = make
    this.#shards = new SimulatedShards(this.#store, this.#nodes, this.#random)
    this.#checker = new ControllerChecker(this.#store, this.#nodes, SIMULATION_SETTINGS)
    this.#faults = faults ?? FAULTS.filter(() => this.#random() < 0.6)
    this.#zones = ['a', 'b', 'c', 'd'].slice(0, 1 + Math.floor(4 * this.#random()))
    const nodes = 3 + Math.floor(7 * this.#random())
    for (let count = 0; count < nodes; count++) this.#join()
    for (let count = 0; count < 2; count++) this.#createTable()
    this.#elect()
  }

  run(): ControllerRun {
    const faultEveryMs = 300 + 2500 * this.#random()
    let nextMs = 5000 * this.#random()
    while (this.#store.nowMs < FAULTS_FOR_MS) {
      this.#step()
      if (this.#store.nowMs < nextMs) continue
      nextMs += 2 * faultEveryMs * this.#random()
      this.#fault()
    }
    this.#heal()
    const restMs = this.#rest()
    const cluster = {
      store: this.#store,
      nodes: this.#nodes,
      tables: this.#tables,
      shards: this.#shards,
    }
    checkRest(cluster)
    if (this.#faults.includes('hold')) this.#holdAtRest(cluster)
    const { trace, committed, kinds } = this.#checker
    return { trace, changes: committed, kinds, restMs }
  }

  #step(): void {
    this.#store.nowMs += STEP_MS
    this.#nodes.renewLeases()
    for (const controller of this.#controllers) {
      controller.watch(this.#troubles)
      controller.plan(this.#troubles)
      controller.commit(this.#troubles)
      this.#shards.follow()
    }
    if (this.#store.nowMs % (3 * STEP_MS) === 0) this.#shards.lead()
    this.#shards.follow()
  }

  /** C16: one node of a cluster at rest hands all over, leads again when its hold is over, and then all is at rest again. */
  #holdAtRest(cluster: RestingCluster): void {
    const node = this.#nodes.pick(this.#random, ({ isRunning, state }) => {
      return isRunning && state === 'serving'
    })
    if (node === undefined) return
    this.#nodes.hold(node, HOLD_AT_REST_MS)
    const untilMs = this.#store.nowMs + HAND_OVER_MAX_MS
    while (this.#store.nowMs < untilMs) this.#step()
    checkHandedOver(cluster, node)
    while (this.#nodes.isHeld(node.id)) this.#step()
    this.#rest()
    checkRest(cluster)
  }

  /** Until no controller has planned anything for longer than its patience. */
  #rest(): number {
    const beganMs = this.#store.nowMs
    let quietMs = 0
    let planned = this.#planned
    while (quietMs < QUIET_MS) {
      this.#step()
      quietMs = this.#planned === planned ? quietMs + STEP_MS : 0
      planned = this.#planned
      if (this.#store.nowMs - beganMs > REST_MAX_MS) {
        throw new BrokenInvariant('C10: the plan does not become empty')
      }
    }
    return this.#store.nowMs - beganMs - quietMs
  }

  get #planned(): number {
    return this.#controllers.reduce((sum, { planned }) => sum + planned, 0)
  }

  #fault(): void {
    const fault = this.#faults[Math.floor(this.#random() * this.#faults.length)]
    if (fault !== undefined) this.#happenings[fault]()
  }

  readonly #happenings: Readonly<Record<ControllerFault, () => void>> = {
    crash: () => this.#crash(),
    restart: () => this.#restart(false),
    damage: () => this.#restart(true),
    disk_back: () => this.#restartBack(),
    disk_back_all: () => {
      this.#restartBack()
      for (const node of this.#nodes.all.values()) {
        if (node.isRunning) this.#nodes.stop(node, false)
        if (!node.isDestroyed) this.#nodes.start(node)
      }
    },
    leave: () => this.#leave(),
    zone: () => this.#loseZone(),
    cut_off: () => this.#cutOff(),
    destroy: () => this.#destroy(),
    join: () => this.#join(),
    drain: () => this.#operate('drain'),
    undrain: () => this.#operate('undrain'),
    decommission: () => this.#operate('decommission'),
    hold: () => this.#hold(),
    create: () => this.#createTable(),
    drop: () => this.#dropTable(),
    replicate: () => this.#replicate(),
    depose: () => this.#elect(),
    slow: () => {
      this.#shards.catchUpMaxMs = 15_000
    },
    trouble: () => {
      this.#troubles.watchDelayMs = 2000 * this.#random()
      this.#troubles.commitDelayMs = 1500 * this.#random()
      this.#troubles.lostAnswerRatio = 0.3 * this.#random()
    },
    calm: () => this.#calm(),
  }

  #calm(): void {
    Object.assign(this.#troubles, { watchDelayMs: 0, commitDelayMs: 200, lostAnswerRatio: 0 })
    this.#shards.catchUpMaxMs = 2000
  }

  #join(): void {
    if (this.#nodes.all.size >= NODES_MAX) return
    const zone = this.#zones[Math.floor(this.#random() * this.#zones.length)] ?? ''
    this.#nodes.join(zone)
  }

  #crash(): void {
    const node = this.#nodes.pick(this.#random, ({ isRunning }) => isRunning)
    if (node !== undefined) this.#nodes.stop(node, false)
  }

  #restart(isDamaged: boolean): void {
    const node = this.#nodes.pick(this.#random, ({ isRunning }) => !isRunning)
    if (node === undefined) return
    if (!isDamaged || !this.#shards.survivesWithout(node)) return this.#nodes.start(node)
    for (const [path, last] of node.logs) node.logs.set(path, Math.max(0, last - 3))
    node.wholeSince = node.incarnation + 1
    this.#nodes.start(node)
  }

  /** One disk at a time goes back: see `fit-leaders.ts`. */
  #restartBack(): void {
    const node = this.#nodes.pick(this.#random, () => true)
    if (node === undefined || !this.#shards.survivesWithout(node)) return
    if (this.#shards.mayBeGivenUpBeside(node)) return
    if (node.isRunning) this.#nodes.stop(node, false)
    for (const [path, last] of node.logs) {
      node.logs.set(path, Math.max(0, last - Math.floor(5 * this.#random())))
    }
    node.backSince = node.incarnation + 1
    this.#nodes.start(node)
  }

  /** First it says so, and the next time it goes. */
  #leave(): void {
    const leaving = this.#nodes.pick(this.#random, (node) => node.isRunning && node.isLeaving)
    if (leaving !== undefined) return this.#nodes.stop(leaving, true)
    const node = this.#nodes.pick(this.#random, ({ isRunning }) => isRunning)
    if (node === undefined) return
    node.isLeaving = true
    this.#nodes.register(node)
  }

  #loseZone(): void {
    const zone = this.#zones[Math.floor(this.#random() * this.#zones.length)]
    for (const node of this.#nodes.all.values()) {
      if (node.zone === zone && node.isRunning) this.#nodes.stop(node, false)
    }
  }

  #cutOff(): void {
    const cut = this.#nodes.pick(this.#random, ({ isReachable }) => !isReachable)
    if (cut !== undefined) cut.isReachable = true
    const node = this.#nodes.pick(this.#random, ({ isRunning }) => isRunning)
    if (node !== undefined && this.#random() < 0.6) node.isReachable = false
  }

  #destroy(): void {
    const node = this.#nodes.pick(this.#random, () => true)
    if (node === undefined || !this.#shards.survivesWithout(node)) return
    this.#nodes.destroy(node)
    if (this.#random() < 0.7) this.#nodes.join(node.zone)
  }

  #operate(wish: 'drain' | 'undrain' | 'decommission'): void {
    const from = wish === 'undrain' ? 'draining' : 'serving'
    const node = this.#nodes.pick(this.#random, ({ state }) => state === from)
    if (node === undefined) return
    const serving = [...this.#nodes.all.values()].filter(
      ({ state, isDestroyed }) => state === 'serving' && !isDestroyed,
    )
    if (wish !== 'undrain' && serving.length < 3) return
    // Of a node that is away this says that its disk is gone for good.
    if (wish === 'decommission' && !this.#shards.survivesWithout(node)) return
    const state = { drain: 'draining', undrain: 'serving', decommission: 'decommissioned' } as const
    this.#nodes.setState(node, state[wish])
  }

  #hold(): void {
    const node = this.#nodes.pick(this.#random, ({ isRunning, state }) => {
      return isRunning && state === 'serving'
    })
    if (node !== undefined) this.#nodes.hold(node, 1000 + Math.floor(HOLD_MAX_MS * this.#random()))
  }

  #createTable(): void {
    if (this.#tables.size >= TABLES_MAX) return
    this.#named += 1
    const id = `t${this.#named}`
    const replicationFactor = 1 + Math.floor(4 * this.#random())
    const minInSync = 1 + Math.floor(replicationFactor * this.#random())
    this.#setReplication(id, { replicationFactor, minInSync })
    const shards = 2 + Math.floor(6 * this.#random())
    for (let at = 0; at < shards; at++) {
      this.#store.put(`${CATALOG_PREFIX}${id}/s${at}`, Buffer.from('{}'))
    }
  }

  #setReplication(id: string, replication: { replicationFactor: number; minInSync: number }): void {
    this.#tables.set(id, replication)
    this.#store.put(TABLE_PREFIX + id, Buffer.from(JSON.stringify(replication)))
  }

  #pickTable(): string | undefined {
    return [...this.#tables.keys()][Math.floor(this.#random() * this.#tables.size)]
  }

  #dropTable(): void {
    const id = this.#pickTable()
    if (id === undefined) return
    this.#tables.delete(id)
    this.#store.delete(TABLE_PREFIX + id)
    for (const [key] of this.#store.list(`${CATALOG_PREFIX}${id}/`)) {
      this.#store.delete(key) // a Map may be changed while it is walked
    }
  }

  #replicate(): void {
    const id = this.#pickTable()
    if (id === undefined) return
    const replicationFactor = 1 + Math.floor(4 * this.#random())
    const minInSync = 1 + Math.floor(replicationFactor * this.#random())
    this.#setReplication(id, { replicationFactor, minInSync })
  }

  /** The controller before continues for a while. */
  #elect(): void {
    this.#named += 1
    const world = {
      store: this.#store,
      nodes: this.#nodes,
      checker: this.#checker,
      random: this.#random,
      settings: SIMULATION_SETTINGS,
    }
    const controller = new SimulatedController(`c${this.#named}`, this.#make, world)
    this.#controllers = [...this.#controllers.slice(-1), controller]
  }

  /** Everybody comes back, but for those that are gone for good: one in five that are down is too. */
  #heal(): void {
    this.#calm()
    this.#controllers = this.#controllers.filter(({ isDeposed }) => !isDeposed)
    for (const node of this.#nodes.all.values()) {
      node.isReachable = true
      if (node.isDestroyed) continue
      if (node.isRunning && node.isLeaving) this.#nodes.stop(node, true)
      const isGone = this.#random() < 0.2 && this.#shards.survivesWithout(node)
      if (!node.isRunning && isGone) this.#nodes.destroy(node)
      else if (!node.isRunning) this.#nodes.start(node)
    }
    // Nobody else can say that a disk, which may be the only one that has everything, never comes back.
    for (const node of this.#nodes.all.values()) {
      if (node.isDestroyed && this.#shards.countsOn(node)) {
        this.#nodes.setState(node, 'decommissioned')
      }
    }
  }
}
