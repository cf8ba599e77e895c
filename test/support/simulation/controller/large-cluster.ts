// A large cluster in which nothing fails but what the test stops: what is measured is the controller.

import { must } from '../../../../lib/assert.ts'
import { seededRandom, type Random } from '../../../../lib/random.ts'
import { ControllerCore } from '../../../../node/controller/core/controller-core.ts'
import type { PlannedCommit } from '../../../../node/controller/core/planned-commit.ts'
import { CONFIGURATION_PREFIX } from '../../../../node/controller/core/records/cluster-codec.ts'
import { CONTROLLER_SETTINGS } from '../../../../node/controller/core/view/controller-settings.ts'
import { ControllerChecker, storedConfiguration } from './controller-checker.ts'
import {
  SimulatedController,
  CATALOG_PREFIX,
  type ControllerTroubles,
} from './simulated-controller.ts'
import { SimulatedNodes, type SimulatedNode } from './simulated-nodes.ts'
import { SimulatedShards } from './simulated-shards.ts'
import { SimulatedStore } from './simulated-store.ts'

const STEP_MS = 100
/** While nothing happens, time passes faster. */
const QUIET_STEP_MS = 2000
const TROUBLES: ControllerTroubles = { watchDelayMs: 0, commitDelayMs: 0, lostAnswerRatio: 0 }

/** How many plans there were, and the time that they kept the processor busy. */
export interface PlanTimes {
  readonly plans: number
  readonly sumMs: number
  readonly mostMs: number
}

class TimedController extends ControllerCore {
  times: PlanTimes = { plans: 0, sumMs: 0, mostMs: 0 }

  override plan(nowMs: number): readonly PlannedCommit[] {
    const began = process.threadCpuUsage()
    const changes = super.plan(nowMs)
    const { user, system } = process.threadCpuUsage(began)
    const tookMs = (user + system) / 1000
    const { plans, sumMs, mostMs } = this.times
    this.times = { plans: plans + 1, sumMs: sumMs + tookMs, mostMs: Math.max(mostMs, tookMs) }
    return changes
  }
}

/** Nodes in three zones, and shards of one table with three replicas each. */
export class LargeCluster {
  readonly #store = new SimulatedStore()
  readonly #nodes = new SimulatedNodes(this.#store)
  readonly #random: Random = seededRandom(1)
  readonly #shards = new SimulatedShards(this.#store, this.#nodes, this.#random)
  readonly #controller: SimulatedController
  readonly #checker = new ControllerChecker(this.#store, this.#nodes, CONTROLLER_SETTINGS)
  #core: TimedController | undefined

  constructor(size: { readonly nodes: number; readonly shards: number }) {
    for (let at = 0; at < size.nodes; at++) this.join(must('abc'[at % 3], 'a zone'))
    for (let at = 0; at < size.shards; at++) {
      this.#store.put(`${CATALOG_PREFIX}t/s${at}`, Buffer.from('{}'))
    }
    const make = (start: ConstructorParameters<typeof ControllerCore>[0]): ControllerCore => {
      this.#core = new TimedController(start)
      return this.#core
    }
    this.#controller = new SimulatedController('c', make, {
      store: this.#store,
      nodes: this.#nodes,
      checker: this.#checker,
      random: this.#random,
      settings: CONTROLLER_SETTINGS,
    })
  }

  /** Changes of the controller so far. */
  get changes(): number {
    return this.#checker.committed
  }

  join(zone: string): void {
    this.#nodes.join(zone)
  }

  stop(node: SimulatedNode): void {
    this.#nodes.stop(node, false)
    this.#shards.unsettle(node)
  }

  drain(node: SimulatedNode): void {
    this.#nodes.setState(node, 'draining')
  }

  node(at: number): SimulatedNode {
    return must([...this.#nodes.all.values()][at], 'a node')
  }

  /**
   * Runs until nothing has been planned for longer than every patience. Answers how long it took until the last
   * change, in virtual time, and how long the plans took.
   */
  rest(): PlanTimes & { readonly virtualMs: number } {
    const core = must(this.#core, 'the controller')
    core.times = { plans: 0, sumMs: 0, mostMs: 0 }
    const quietMs = CONTROLLER_SETTINGS.replaceAfterMs + CONTROLLER_SETTINGS.settleMs
    const beganMs = this.#store.nowMs
    let plannedMs = beganMs
    while (this.#store.nowMs - plannedMs < quietMs) {
      const before = this.#controller.planned
      this.#step(this.#store.nowMs - plannedMs > 5000 ? QUIET_STEP_MS : STEP_MS)
      if (this.#controller.planned > before) plannedMs = this.#store.nowMs
    }
    return { ...core.times, virtualMs: plannedMs - beganMs }
  }

  /** The numbers of replicas and of leaderships, for each node that has any. */
  counts(): {
    readonly replicas: ReadonlyMap<string, number>
    readonly leaders: ReadonlyMap<string, number>
  } {
    const [replicas, leaders] = [new Map<string, number>(), new Map<string, number>()]
    for (const [key] of this.#store.list(CONFIGURATION_PREFIX)) {
      const path = key.slice(CONFIGURATION_PREFIX.length)
      const configuration = must(storedConfiguration(this.#store, path), 'a configuration')
      for (const id of configuration.replicas) replicas.set(id, (replicas.get(id) ?? 0) + 1)
      const leader = configuration.leader?.node ?? ''
      leaders.set(leader, (leaders.get(leader) ?? 0) + 1)
    }
    return { replicas, leaders }
  }

  #step(stepMs: number): void {
    this.#store.nowMs += stepMs
    this.#nodes.renewLeases()
    this.#controller.watch(TROUBLES)
    this.#controller.plan(TROUBLES)
    this.#controller.commit(TROUBLES)
    this.#shards.follow()
    this.#shards.lead(this.#shards.unsteady())
  }
}
