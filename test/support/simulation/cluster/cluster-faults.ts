import type { MemoryNetwork } from '../../../../node/peer/channels/memory-network.ts'
import type { ClusterAdmin } from '../../../../node/controller/shell/cluster-admin.ts'
import type { Dice } from '../dice.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { SimulatedNode } from './simulated-node.ts'
import type { SimulatedPlane } from './simulated-plane.ts'

export const CLUSTER_FAULTS = [
  /** A process ends, with what its disk had not synced, and comes back. */
  'crash',
  /** All processes end at once. */
  'crash_all',
  /** A process stands still. */
  'freeze',
  /** A process ends in order and comes back. */
  'leave',
  /** Some nodes do not reach others, in one direction or both. */
  'partition',
  /** A node reaches neither the others nor the control plane, and clients still reach it. */
  'alone',
  /** Connections end. */
  'cut',
  /** Messages are slow, each way in its own time. */
  'slow_network',
  /** Messages of a connection hang and arrive later, in order: when it has been given up, or minutes later. */
  'late_messages',
  /** A node refuses most of what its shards are asked to write, and may lose its connections. */
  'overload',
  /** Nobody reaches the control plane. */
  'plane_away',
  /** One node does not reach the control plane. */
  'plane_cut',
  /** Commits of the control plane lose their answers, and some take effect late. */
  'lost_answers',
  /** Leases end early or late. */
  'lease_errors',
  /** Events of the control plane come late, and watches end as compacted. */
  'late_events',
  /** Wall clocks leap by up to an hour, and run at different rates. */
  'clocks',
  /** Disks are slow. */
  'slow_disk',
  /** A disk is full. */
  'full_disk',
  /** A write of a disk fails: the process ends. */
  'failed_write',
  /** A bit of a journal flips while the process is away. */
  'flipped_bit',
  /** A data directory is lost; a new node comes in its place. */
  'lost_directory',
  /** A disk becomes what it was some time before, and its process starts again. */
  'disk_back',
  /** So it is with one disk, and all processes start again. */
  'disk_back_all',
  /** The control plane's store becomes what it was some time before; all processes start again, some of them at once. */
  'plane_back',
  /** An operator has a leadership moved, or a node emptied and used again. */
  'operator',
] as const

export type ClusterFault = (typeof CLUSTER_FAULTS)[number]

/** What a fault works on. */
export interface Harm {
  readonly time: VirtualTime
  readonly dice: Dice
  readonly network: MemoryNetwork
  readonly plane: SimulatedPlane
  readonly nodes: readonly SimulatedNode[]
  readonly node: SimulatedNode
  /** Starts the node again unless the cluster is being healed. */
  readonly startLater: (node: SimulatedNode, afterMs: number) => void
  readonly replace: (node: SimulatedNode) => void
  /** False when another disk has lost what it acknowledged: two would be too many. */
  readonly mayLose: () => boolean
  /** Whether wall clocks may leap by so much that documents expire. */
  readonly mayLeap: boolean
  /** False where tables come and go: those that came since a backup are not in it. */
  readonly mayForgetTables: boolean
  /** An operator recovers the control plane as soon as the nodes have told what they know. */
  readonly recover: () => void
}

/** An end that hears nothing for longer than this closes the connection (`PEER_LIMITS.silenceMs`). */
const STALL_MAX_MS = 3900
/** The longest time for which a process stands still. */
export const MINUTES_MS = 240_000

export const HARM: Record<ClusterFault, (harm: Harm) => void> = {
  crash: ({ dice, node, startLater }) => {
    node.kill()
    startLater(node, dice.between(50, 4000))
  },
  crash_all: ({ dice, nodes, startLater }) => {
    for (const one of nodes) one.kill()
    for (const one of nodes) startLater(one, dice.between(50, 2000))
  },
  freeze: ({ dice, node }) => {
    // Sometimes for so long that others end its transactions meanwhile.
    const longestMs = dice.chance(0.15) ? 40_000 : 8000
    node.life?.clock.freeze(dice.between(50, longestMs))
  },
  leave: ({ dice, node, startLater }) => {
    const afterMs = dice.between(500, 2500)
    void node
      .leave()
      .catch(() => undefined)
      .finally(() => startLater(node, afterMs))
  },
  partition: ({ time, dice, network, nodes }) => {
    const apart = new Set(nodes.filter(() => dice.chance(0.4)).map(({ id }) => id))
    const isOneWay = dice.chance(0.4)
    const ways = waysBetween(nodes).filter(([from, to]) => {
      if (apart.has(from) === apart.has(to)) return false
      return !isOneWay || apart.has(from)
    })
    for (const [from, to] of ways) network.weather(from, to, { isBlackHole: true })
    time.after(dice.between(200, 5000), () => {
      // In an order of its own.
      for (const [from, to] of ways) {
        time.after(dice.between(0, 1000), () => network.weather(from, to, { isBlackHole: false }))
      }
    })
  },
  alone: ({ time, dice, network, plane, nodes, node }) => {
    const ways = waysBetween(nodes).filter((way) => way.includes(node.id))
    for (const [from, to] of ways) network.weather(from, to, { isBlackHole: true })
    plane.cut(node.id)
    time.after(dice.between(200, 8000), () => {
      for (const [from, to] of ways) network.weather(from, to, { isBlackHole: false })
      time.after(dice.between(0, 1000), () => plane.join(node.id))
    })
  },
  cut: ({ dice, network, nodes, node }) => {
    const other = dice.pick(nodes)
    if (other === undefined) return
    if (dice.chance(0.5)) network.cut(node.id, other.id)
    else network.cutOneEnd(node.id, other.id)
  },
  slow_network: ({ time, dice, network, nodes }) => {
    for (const [from, to] of waysBetween(nodes)) {
      const delayMs = dice.chance(0.3) ? dice.between(50, 900) : dice.between(0.1, 5)
      network.weather(from, to, { delayMs })
    }
    time.after(dice.between(500, 4000), () => calmNetwork(network, nodes))
  },
  late_messages: ({ time, dice, network, nodes, node }) => {
    const other = dice.pick(nodes.filter((one) => one !== node))
    if (other === undefined) return
    const stalledMs = dice.between(5, dice.chance(0.6) ? 150 : STALL_MAX_MS)
    const flow = network.stall(node.id, other.id)
    time.after(stalledMs, flow)
    // The sender gives the connection up, and repeats over another one what may be repeated.
    const isGivenUp = dice.chance(0.7)
    const givenUpMs = dice.between(1, Math.min(stalledMs, 30))
    if (isGivenUp) time.after(givenUpMs, () => network.cutOneEnd(node.id, other.id))
    // What has arrived waits until the process is awake.
    const isAsleep = dice.chance(0.3)
    const longestMs = dice.chance(0.1) ? MINUTES_MS : 20_000
    const asleepMs = dice.between(1000, longestMs)
    if (isAsleep) other.life?.clock.freeze(asleepMs)
  },
  overload: ({ time, dice, network, nodes, node }) => {
    node.refusedRatio = dice.between(0.3, 1)
    const cutMs = dice.between(0.5, 10)
    const isCut = dice.chance(0.6)
    time.after(cutMs, () => {
      for (const { id } of isCut ? nodes : []) network.cut(node.id, id)
    })
    time.after(dice.between(20, 4000), () => {
      node.refusedRatio = 0
    })
  },
  plane_away: ({ time, dice, plane }) => {
    plane.isAway = true
    time.after(dice.between(200, 5000), () => {
      plane.isAway = false
    })
  },
  plane_cut: ({ time, dice, plane, node }) => {
    plane.cut(node.id)
    time.after(dice.between(200, 5000), () => plane.join(node.id))
  },
  lost_answers: ({ time, dice, plane }) => {
    plane.lostAnswerRatio = 0.4
    time.after(dice.between(500, 5000), () => {
      plane.lostAnswerRatio = 0
    })
  },
  lease_errors: ({ time, dice, plane }) => {
    plane.leaseErrorMs = 2500
    time.after(dice.between(2000, 6000), () => {
      plane.leaseErrorMs = 0
    })
  },
  late_events: ({ time, dice, plane }) => {
    plane.eventDelayMs = [1, 2000]
    plane.compactedRatio = 0.1
    time.after(dice.between(500, 5000), () => {
      plane.eventDelayMs = [0.2, 5]
      plane.compactedRatio = 0
    })
  },
  clocks: ({ dice, node, mayLeap }) => {
    node.clockRate = dice.between(0.996, 1.004)
    node.clockOffsetMs = dice.between(-250, 250)
    const leapMs = dice.between(-3_600_000, 3_600_000)
    if (mayLeap && dice.chance(0.3)) node.life?.clock.setOffset(leapMs)
  },
  slow_disk: ({ time, dice, node }) => {
    node.diskMs = [5, 400]
    time.after(dice.between(500, 5000), () => {
      node.diskMs = [0.1, 1]
    })
  },
  full_disk: ({ time, dice, node }) => {
    node.disk.failWrites('DISK_FULL')
    time.after(dice.between(200, 5000), () => node.disk.failWrites(undefined))
  },
  failed_write: ({ dice, node, startLater }) => {
    if (!node.isUp) return
    node.disk.directory.failNextWrite()
    startLater(node, dice.between(500, 4000))
  },
  flipped_bit: ({ dice, node, startLater, mayLose }) => {
    if (!mayLose()) return
    node.kill()
    const { directory } = node.disk
    const name = dice.pick(directory.names)
    if (name !== undefined) {
      const length = directory.contentOf(name).length
      directory.flipBit(name, Math.floor(dice.random() * length))
    }
    startLater(node, dice.between(500, 2000))
  },
  lost_directory: ({ node, replace, mayLose }) => {
    if (mayLose()) replace(node)
  },
  disk_back: ({ dice, node, startLater, mayLose }) => {
    if (!mayLose()) return
    node.goBack(dice)
    startLater(node, dice.between(50, 6000))
  },
  disk_back_all: ({ dice, nodes, node, startLater, mayLose }) => {
    if (!mayLose()) return
    for (const one of nodes) one.kill()
    node.goBack(dice)
    for (const one of nodes) startLater(one, dice.between(50, 4000))
  },
  plane_back: ({ time, dice, plane, nodes, startLater, mayForgetTables, recover }) => {
    if (!mayForgetTables) return
    const again = (one: SimulatedNode): void => {
      one.kill()
      startLater(one, dice.between(50, 2000))
    }
    // All, one or none of the processes start again at once; the others see it while they run.
    const first = nodes.filter(() => dice.chance(dice.pick([0, 0.4, 1]) ?? 1))
    const later = nodes.filter((one) => !first.includes(one))
    const laterMs = dice.between(1000, 6000)
    for (const one of first) one.kill()
    void plane.goBack(dice).then(() => {
      for (const one of first) startLater(one, dice.between(50, 2000))
      time.after(laterMs, () => {
        for (const one of later) again(one)
        recover()
      })
    })
  },
  operator: ({ time, dice, node, nodes }) => {
    const control = dice.pick(nodes)?.life?.control
    if (control === undefined) return
    if (dice.chance(0.7)) return transfer(node, control)
    void control.requestOfNode({ node: node.id, kind: 'drain' }).catch(ignore)
    time.after(dice.between(500, 4000), () => {
      void control.requestOfNode({ node: node.id, kind: 'undrain' }).catch(ignore)
    })
  },
}

function transfer(node: SimulatedNode, control: ClusterAdmin): void {
  const [table] = node.life?.opened?.registry.tables() ?? []
  for (const { id } of table?.shards ?? []) {
    const path = node.life?.map?.pathOf(id)
    if (path !== undefined) void control.requestTransfer({ path, to: node.id }).catch(ignore)
  }
}

/** Operators' requests may be refused. */
function ignore(): void {}

export function calmNetwork(network: MemoryNetwork, nodes: readonly SimulatedNode[]): void {
  for (const [from, to] of waysBetween(nodes)) network.weather(from, to, { delayMs: 0.2 })
}

export function healNetwork(network: MemoryNetwork, nodes: readonly SimulatedNode[]): void {
  for (const [from, to] of waysBetween(nodes)) {
    network.weather(from, to, { delayMs: 0.2, isBlackHole: false })
  }
}

function waysBetween(nodes: readonly SimulatedNode[]): readonly (readonly [string, string])[] {
  const names = nodes.map(({ id }) => id)
  return names.flatMap((from) => names.filter((to) => to !== from).map((to) => [from, to] as const))
}
