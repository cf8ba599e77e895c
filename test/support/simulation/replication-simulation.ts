import { seededRandom } from '../../../lib/random.ts'
import type { NodeId, ShardConfiguration } from '../../../node/replication/core/configuration.ts'
import { holdersOf } from '../../../node/replication/core/fit-leaders.ts'
import { BrokenInvariant, ReplicationChecker } from './replication-checker.ts'
import { OUR_MODULES, type ReplicationModules } from './replication-modules.ts'
import { SimulatedControlPlane } from './simulated-control-plane.ts'
import { SimulatedNetwork } from './simulated-network.ts'
import { CONTROL_PLANE, SimulatedReplica, type Surroundings } from './simulated-replica.ts'
import { VirtualTime } from './virtual-time.ts'

export type Fault =
  | 'crash'
  | 'pause'
  | 'partition'
  | 'bad_network'
  | 'control_plane_away'
  | 'lost_answers'
  | 'lease_errors'
  | 'clock_rates'
  | 'slow_disk'
  | 'dropped_log'
  | 'hand_over'
  | 'lost_directory'
  | 'restart_all'
  | 'disk_back'
  | 'disk_back_restart_all'
  | 'leave'

export const FAULTS: readonly Fault[] = [
  'crash',
  'pause',
  'partition',
  'bad_network',
  'control_plane_away',
  'lost_answers',
  'lease_errors',
  'clock_rates',
  'slow_disk',
  'dropped_log',
  'hand_over',
  'lost_directory',
  'restart_all',
  'disk_back',
  'disk_back_restart_all',
  'leave',
]

export interface SimulationOptions {
  readonly seed: number
  /** Those that may happen; default: a choice by the seed. */
  readonly faults?: readonly Fault[]
  readonly modules?: ReplicationModules
  /** How long faults happen, and how far apart they are. */
  readonly troubleMs?: number
  readonly faultMs?: number
}

export interface SimulationResult {
  readonly trace: number
  readonly acknowledgedWrites: number
  /** Writes of leaders that stopped, of which it became certain that they have no effect. */
  readonly refusedWrites: number
  readonly servedReads: number
  readonly epochs: number
  readonly faults: readonly Fault[]
}

const TROUBLE_MS = 40_000
const HEALING_MS = 20_000
const CLIENT_MS = 35
const FAULT_MS = 700

/**
 * Three or five replicas of one shard, clients, a control plane, and faults; then everything heals.
 * Throws BrokenInvariant for a broken promise, and when the shard does not recover.
 */
export function simulateReplication(options: SimulationOptions): SimulationResult {
  const simulation = new Simulation(options)
  return simulation.run()
}

class Simulation {
  readonly #time: VirtualTime
  readonly #network: SimulatedNetwork
  readonly #controlPlane: SimulatedControlPlane
  readonly #checker = new ReplicationChecker()
  readonly #replicas = new Map<NodeId, SimulatedReplica>()
  readonly #surroundings: Surroundings
  readonly #faults: readonly Fault[]
  readonly #troubleMs: number
  readonly #faultMs: number
  #isTroubled = true
  #directories = 0

  constructor(options: SimulationOptions) {
    const { seed, faults, modules = OUR_MODULES } = options
    this.#time = new VirtualTime(seededRandom(seed))
    this.#network = new SimulatedNetwork(this.#time)
    this.#troubleMs = options.troubleMs ?? TROUBLE_MS
    this.#faultMs = options.faultMs ?? FAULT_MS
    this.#faults = faults ?? FAULTS.filter(() => this.#time.chance(0.4))
    const count = this.#time.chance(0.3) ? 5 : 3
    const nodes = Array.from({ length: count }, () => this.#newNode())
    this.#controlPlane = new SimulatedControlPlane(this.#time, firstConfiguration(nodes), modules)
    this.#surroundings = {
      time: this.#time,
      network: this.#network,
      controlPlane: this.#controlPlane,
      checker: this.#checker,
      modules,
      replica: (node) => this.#replicas.get(node),
    }
    this.#controlPlane.askEnd = (node) => {
      const { round } = this.#controlPlane
      this.#network.send(CONTROL_PLANE, node, () => this.#replicas.get(node)?.tellEnd(round))
    }
    for (const node of nodes) this.#add(node)
  }

  run(): SimulationResult {
    const time = this.#time
    this.#repeat(500, () => this.#controlPlane.control())
    this.#repeat(CLIENT_MS, () => this.#useReplica())
    time.runUntil(2000)
    this.#repeat(this.#faultMs, () => this.#doHarm())
    time.runUntil(2000 + this.#troubleMs)
    this.#heal()
    time.runUntil(time.nowMs + HEALING_MS)
    this.#checkEnd()
    const { trace, acknowledgedWrites, refusedWrites, servedReads } = this.#checker
    const epochs = this.#controlPlane.configuration.epoch
    const writes = { acknowledgedWrites, refusedWrites }
    return { trace, ...writes, servedReads, epochs, faults: this.#faults }
  }

  #newNode(): NodeId {
    this.#directories += 1
    return `n${this.#directories}`
  }

  #add(node: NodeId): void {
    const replica = new SimulatedReplica(node, this.#surroundings)
    replica.disk.remembers = DISKS_BACK.some((fault) => this.#faults.includes(fault))
    if (this.#faults.includes('clock_rates')) {
      replica.clock = {
        offsetMs: this.#time.between(0, 3_600_000),
        rate: this.#time.between(0.996, 1.004),
      }
    }
    this.#replicas.set(node, replica)
    replica.start()
  }

  #repeat(periodMs: number, run: () => void): void {
    const again = (): void => {
      run()
      this.#time.after(this.#time.between(0, 2 * periodMs), again)
    }
    again()
  }

  #useReplica(): void {
    const replicas = [...this.#replicas.values()]
    for (const replica of replicas) if (this.#time.chance(0.4)) replica.read()
    for (const replica of replicas) if (replica.isServing) replica.write()
  }

  #doHarm(): void {
    const fault = this.#isTroubled ? this.#time.pick(this.#faults) : undefined
    const replica = this.#time.pick([...this.#replicas.values()])
    if (fault === undefined || replica === undefined) return
    this.#checker.note(fault)
    HARM[fault]({
      time: this.#time,
      network: this.#network,
      controlPlane: this.#controlPlane,
      replica,
      replicas: this.#replicas,
      replace: (lost) => this.#replace(lost),
    })
  }

  #replace(lost: SimulatedReplica): void {
    lost.crash()
    this.#replicas.delete(lost.node)
    const fresh = this.#newNode()
    this.#controlPlane.replaceReplica(lost.node, fresh)
    this.#add(fresh)
  }

  #heal(): void {
    this.#isTroubled = false
    this.#network.heal()
    this.#controlPlane.isAway = false
    this.#controlPlane.lostAnswerRatio = 0
    this.#controlPlane.leaseErrorMs = 0
    for (const replica of this.#replicas.values()) {
      replica.disk.syncMs = [0.2, 3]
      replica.start()
    }
  }

  /** INV-R2 and liveness (D23). */
  #checkEnd(): void {
    const { configuration } = this.#controlPlane
    const serving = [...this.#replicas.values()].filter(({ isServing }) => isServing)
    const [leader] = serving
    if (leader === undefined || serving.length !== 1) {
      throw new BrokenInvariant(`liveness: ${serving.length} replicas serve after the healing`)
    }
    if (configuration.inSync.length !== this.#replicas.size) {
      throw new BrokenInvariant(`liveness: in sync are ${JSON.stringify(configuration.inSync)}`)
    }
    for (const replica of this.#replicas.values()) {
      const crcs = new Map(replica.log.map(({ sequence, crc }) => [sequence, crc]))
      this.#checker.holdsAll(replica.node, (sequence) => crcs.get(sequence), replica.base)
    }
  }
}

interface Harm {
  readonly time: VirtualTime
  readonly network: SimulatedNetwork
  readonly controlPlane: SimulatedControlPlane
  readonly replica: SimulatedReplica
  readonly replicas: ReadonlyMap<NodeId, SimulatedReplica>
  readonly replace: (lost: SimulatedReplica) => void
}

const HARM: Record<Fault, (harm: Harm) => void> = {
  crash: ({ time, replica }) => {
    replica.crash()
    time.after(time.between(10, 12_000), () => replica.start())
  },
  pause: ({ time, replica }) => replica.pause(time.between(10, 15_000)),
  partition: ({ time, network, replicas }) => {
    const places = [...replicas.keys(), CONTROL_PLANE]
    const isApart = new Set(places.filter(() => time.chance(0.4)))
    const isOneWay = time.chance(0.4)
    for (const from of places) {
      for (const to of places) {
        if (isApart.has(from) === isApart.has(to)) continue
        if (!isOneWay || isApart.has(from)) network.cut(from, to)
      }
    }
    time.after(time.between(100, 9000), () => network.heal())
  },
  bad_network: ({ time, network }) => {
    network.lossRatio = time.between(0, 0.3)
    network.duplicateRatio = time.between(0, 0.3)
    network.delayMs = [0.1, time.between(1, 200)]
    time.after(time.between(100, 6000), () => network.heal())
  },
  control_plane_away: ({ time, controlPlane }) => {
    controlPlane.isAway = true
    time.after(time.between(100, 12_000), () => {
      controlPlane.isAway = false
    })
  },
  lost_answers: ({ time, controlPlane }) => {
    controlPlane.lostAnswerRatio = time.between(0, 0.6)
  },
  lease_errors: ({ time, controlPlane }) => {
    controlPlane.leaseErrorMs = time.between(0, 4500)
  },
  clock_rates: () => undefined,
  slow_disk: ({ time, replica }) => {
    replica.disk.syncMs = [1, time.between(10, 5000)]
    time.after(time.between(100, 8000), () => {
      replica.disk.syncMs = [0.2, 3]
    })
  },
  dropped_log: ({ replica }) => replica.dropLog(),
  hand_over: ({ replica, controlPlane }) => {
    if (!controlPlane.isAway) controlPlane.elect(replica.node)
  },
  lost_directory: ({ replica, controlPlane, replace, replicas }) => {
    const { inSync, minInSync } = controlPlane.configuration
    if (isAnyBack({ controlPlane, replicas })) return
    const isSpare = !inSync.some(({ node }) => node === replica.node) || inSync.length > minInSync
    if (isSpare && !controlPlane.isAway) replace(replica)
  },
  leave: ({ time, replica, replicas }) => {
    const { node, incarnation } = replica.id
    const tell = (leaving: ReadonlyMap<NodeId, number>): void => {
      for (const one of replicas.values()) {
        time.after(time.between(0, 300), () => one.hearOfLeaving(leaving))
      }
    }
    tell(new Map([[node, incarnation]]))
    time.after(time.between(0, 2000), () => {
      replica.crash()
      time.after(time.between(10, 5000), () => {
        replica.start()
        tell(new Map())
      })
    })
  },
  restart_all: ({ time, replicas }) => {
    for (const replica of replicas.values()) {
      replica.crash()
      time.after(time.between(10, 3000), () => replica.start())
    }
  },
  disk_back: (harm) => {
    if (!goBack(harm)) return
    const { time, replica } = harm
    time.after(time.between(10, 12_000), () => replica.start())
  },
  disk_back_restart_all: (harm) => {
    if (!goBack(harm)) return
    const { time, replicas } = harm
    for (const replica of replicas.values()) {
      replica.crash()
      time.after(time.between(10, 3000), () => replica.start())
    }
  },
}

const DISKS_BACK: readonly Fault[] = ['disk_back', 'disk_back_restart_all']

/**
 * An acknowledged write on all in-sync disks but one survives any state of that one: so one disk goes back at a time, and
 * only while another one holds everything.
 */
function goBack({ replica, replicas, controlPlane }: Harm): boolean {
  if (isAnyBack({ controlPlane, replicas })) return false
  if (holdersOf(controlPlane.configuration).every(({ node }) => node === replica.node)) return false
  replica.goBack()
  return true
}

/** Whether the control plane still counts on a disk that went back. */
function isAnyBack({ controlPlane, replicas }: Pick<Harm, 'controlPlane' | 'replicas'>): boolean {
  const holders = holdersOf(controlPlane.configuration)
  return replicas.values().some((replica) => replica.isMissedBy(holders))
}

function firstConfiguration(nodes: readonly NodeId[]): ShardConfiguration {
  return {
    revision: 1,
    epoch: 0,
    leader: undefined,
    replicas: nodes,
    inSync: nodes.map((node) => ({ node, incarnation: 1 })),
    eligible: [],
    minInSync: 2,
    operation: 'create',
  }
}
