import type { PlannedCommit } from '../../../../node/controller/core/planned-commit.ts'
import type { AskedEnd, ControllerCore } from '../../../../node/controller/core/controller-core.ts'
import {
  CONFIGURATION_PREFIX,
  CONTROLLER_KEY,
  LIVE_PREFIX,
  MOVE_PREFIX,
  NODE_PREFIX,
  decodeConfiguration,
  decodeMove,
  decodeNode,
  decodeRegistration,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import { holdLeftMs } from '../../../../node/controller/core/records/node-record.ts'
import type { ControllerSettings } from '../../../../node/controller/core/view/controller-settings.ts'
import { must } from '../../../../lib/assert.ts'
import type { Observation } from '../../../../node/controller/core/view/observation.ts'
import type { Random } from '../../../../lib/random.ts'
import { storedConfiguration, type ControllerChecker } from './controller-checker.ts'
import type { SimulatedNodes } from './simulated-nodes.ts'
import type { SimulatedStore, StoreEvent } from './simulated-store.ts'

export const CATALOG_PREFIX = '/table-shards/'
/** In the simulation the replication of a table is an entry of its own. */
export const TABLE_PREFIX = '/tables/'

/** What goes wrong between a controller and the store. */
export interface ControllerTroubles {
  watchDelayMs: number
  commitDelayMs: number
  lostAnswerRatio: number
}

interface Flight {
  readonly planned: PlannedCommit
  readonly atMs: number
}

export type MakeController = (start: {
  readonly name: string
  readonly fence: { readonly key: string; readonly modRevision: number }
  readonly settings: ControllerSettings
}) => ControllerCore

/** The shell of a controller: elected once, it continues after another one is, as one that has not noticed. */
export class SimulatedController {
  readonly core: ControllerCore
  readonly #revision: number
  readonly #store: SimulatedStore
  readonly #nodes: SimulatedNodes
  readonly #checker: ControllerChecker
  readonly #random: Random
  readonly #flights: Flight[] = []
  #read: number
  planned = 0

  constructor(
    name: string,
    make: MakeController,
    world: {
      readonly store: SimulatedStore
      readonly nodes: SimulatedNodes
      readonly checker: ControllerChecker
      readonly random: Random
      readonly settings: ControllerSettings
    },
  ) {
    const { store, nodes, checker, random, settings } = world
    this.#nodes = nodes
    store.put(CONTROLLER_KEY, Buffer.from(name))
    this.#revision = store.revision
    this.#store = store
    this.#checker = checker
    this.#random = random
    const fence = { key: CONTROLLER_KEY, modRevision: this.#revision }
    this.core = make({ name, fence, settings })
    this.#read = store.events.length
    for (const [key, { value, modRevision }] of store.list('/')) {
      this.#observe(key, value, modRevision)
    }
    this.core.listed(store.revision)
  }

  get isDeposed(): boolean {
    return this.#store.get(CONTROLLER_KEY)?.modRevision !== this.#revision
  }

  /** Hears of what is old enough. */
  watch({ watchDelayMs }: ControllerTroubles): void {
    const { events, nowMs } = this.#store
    for (;;) {
      const event = events[this.#read]
      if (event === undefined || event.atMs > nowMs - watchDelayMs) return
      this.#observe(event.key, event.value, event.revision)
      this.#read += 1
    }
  }

  plan({ commitDelayMs }: ControllerTroubles): void {
    const { nowMs } = this.#store
    for (const planned of this.core.plan(nowMs)) {
      this.planned += planned.changes.length
      this.#checker.attempted(this.#revision, nowMs)
      this.#flights.push({ planned, atMs: nowMs + commitDelayMs * this.#random() })
    }
    for (const [node, asked] of this.core.takeAsks()) this.#askEnds(node, asked)
  }

  /** All entries of this simulation are of one epoch. */
  #askEnds(id: string, asked: readonly AskedEnd[]): void {
    const node = this.#nodes.all.get(id)
    if (node?.isRunning !== true) return
    const { incarnation } = node
    for (const { path, round } of asked) {
      const end = { epoch: 1, sequence: node.logs.get(path) ?? 0 }
      const replica = { node: id, incarnation }
      this.core.observe({ kind: 'end', path, round, replica, end }, this.#store.nowMs)
    }
  }

  commit({ lostAnswerRatio }: ControllerTroubles): void {
    const { nowMs } = this.#store
    for (const flight of this.#flights.splice(0)) {
      if (flight.atMs > nowMs) this.#flights.push(flight)
      else this.#commitOne(flight.planned, this.#random() < lostAnswerRatio)
    }
  }

  #commitOne(planned: PlannedCommit, isLost: boolean): void {
    const { nowMs } = this.#store
    const befores = planned.changes.map(({ path }) => storedConfiguration(this.#store, path))
    const outcome = this.#store.commit(planned.commit)
    if (outcome.kind === 'committed') {
      for (const [at, change] of planned.changes.entries()) {
        this.#checker.happened(change, befores[at], this.#revision)
      }
    }
    if (isLost) return this.core.settle(planned, { kind: 'unknown' }, nowMs)
    if (outcome.kind === 'conflict') {
      for (const { key, value, modRevision } of outcome.entries) {
        this.#observe(key, value, modRevision)
      }
    }
    this.core.settle(planned, outcome, nowMs)
  }

  #observe(key: string, value: Uint8Array | undefined, revision: number): void {
    const prefix = Object.keys(OBSERVED).find((start) => key.startsWith(start))
    if (prefix === undefined) return
    const observation = must(OBSERVED[prefix], 'a reader')({ key, value, revision }, prefix.length)
    const { nowMs } = this.#store
    const isNode = observation.kind === 'node' && observation.record !== undefined
    const left = isNode ? { holdLeftMs: holdLeftMs(observation.record ?? {}, nowMs) } : {}
    this.core.observe({ ...observation, ...left }, nowMs)
  }
}

type Event = Pick<StoreEvent, 'key' | 'value' | 'revision'>

/** How each key is read, by how it begins. */
const OBSERVED: Readonly<Record<string, (event: Event, length: number) => Observation>> = {
  [NODE_PREFIX]: ({ key, value, revision }, length) => ({
    kind: 'node',
    id: key.slice(length),
    record: value && decodeNode(value),
    revision,
  }),
  [LIVE_PREFIX]: ({ key, value, revision }, length) => ({
    kind: 'live',
    id: key.slice(length),
    record: value && decodeRegistration(value),
    revision,
  }),
  [CONFIGURATION_PREFIX]: ({ key, value, revision }, length) => ({
    kind: 'configuration',
    path: key.slice(length),
    configuration: value && decodeConfiguration(value, revision),
    revision,
  }),
  [MOVE_PREFIX]: ({ key, value, revision }, length) => ({
    kind: 'move',
    path: key.slice(length),
    record: value && decodeMove(value),
    revision,
  }),
  [CATALOG_PREFIX]: ({ key, value, revision }, length) => ({
    kind: 'catalog',
    path: key.slice(length),
    entry: { key, modRevision: value === undefined ? 0 : revision },
  }),
  [TABLE_PREFIX]: ({ key, value }, length) => ({
    kind: 'table',
    tableId: key.slice(length),
    replication: value && JSON.parse(Buffer.from(value).toString()),
  }),
}
