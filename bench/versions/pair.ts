// The servers of two checkouts beside each other, which do the same in turns.

import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { startCheckout, startQuarry, type QuarryServer } from '../documents/quarry-server.ts'
import { readTreeCpuSeconds } from '../process-tree.ts'
import type { Finding } from '../report/finding.ts'
import type { Bench } from '../suite.ts'

const OTHER = 'the other checkout'
/** Nothing may get slower by more than the spread of such figures. */
const SPEED_GOAL = { kind: 'at-least', value: 0.97 } as const
/** On a machine with other work the processor's time says more than the clock. */
const COST_GOAL = { kind: 'at-most', value: 1.03 } as const

/** A new server needs some seconds of the same work until its compilers are done; versions differ in how many. */
const WARM_UPS = 3

export interface Pair extends AsyncDisposable {
  readonly ours: QuarryServer
  readonly other: QuarryServer
}

/** What a server did in a turn: how many, and how many in a second. */
export interface Done {
  readonly count: number
  readonly perSecond: number
}

/** `turn` is another number in each turn, and the same for both servers. */
export type Work = (server: QuarryServer, turn: number) => Promise<Done>

/** One row: what both servers did, run by run. */
export class Turns {
  readonly #bench: Bench
  readonly #label: string
  readonly #work: Work
  readonly #speeds = { ours: [] as number[], other: [] as number[] }
  #turn = 0
  readonly #costs = { ours: [] as number[], other: [] as number[] }

  constructor(bench: Bench, label: string, work: Work) {
    this.#bench = bench
    this.#label = label
    this.#work = work
  }

  /**
   * Each server works three times for its compilers, and then twice in turns. Which comes first changes, since the second finds
   * a warmer machine.
   */
  async take({ ours, other }: Pair, run: number): Promise<void> {
    this.#bench.progress(`${this.#label}: run ${run} of ${this.#bench.runs}`)
    for (let i = 0; i < WARM_UPS; i += 1) {
      for (const server of [ours, other]) await this.#work(server, (this.#turn += 1))
    }
    const done = { ours: new Tally(ours), other: new Tally(other) }
    for (const sides of [
      [done.ours, done.other],
      [done.other, done.ours],
    ]) {
      this.#turn += 1
      for (const side of sides) await side.add((server) => this.#work(server, this.#turn))
    }
    for (const side of ['ours', 'other'] as const) {
      this.#speeds[side].push(done[side].perSecond)
      this.#costs[side].push(done[side].microsEach)
    }
  }

  get findings(): readonly Finding[] {
    const common = { kind: 'ratio', peerName: OTHER } as const
    const { ours, other } = this.#speeds
    const costs = this.#costs
    return [
      { ...common, label: this.#label, unit: '/s', ours, peer: other, goal: SPEED_GOAL },
      {
        ...common,
        label: `${this.#label}, time of the processor`,
        unit: 'µs each',
        ours: costs.ours,
        peer: costs.other,
        goal: COST_GOAL,
      },
    ]
  }
}

/** What one server did in a run. */
class Tally {
  readonly #server: QuarryServer
  #count = 0
  #seconds = 0
  #cpuSeconds = 0

  constructor(server: QuarryServer) {
    this.#server = server
  }

  async add(work: (server: QuarryServer) => Promise<Done>): Promise<void> {
    const { pid } = this.#server.process
    const before = await readTreeCpuSeconds(pid)
    const { count, perSecond } = await work(this.#server)
    this.#cpuSeconds += (await readTreeCpuSeconds(pid)) - before
    this.#count += count
    this.#seconds += count / perSecond
  }

  get perSecond(): number {
    return this.#count / this.#seconds
  }

  get microsEach(): number {
    return (1e6 * this.#cpuSeconds) / this.#count
  }
}

/** Starts both. `name` chooses their data directories. Throws without `--against`. */
export async function startPair(bench: Bench, name: string): Promise<Pair> {
  const checkout = path.resolve(must(bench.against, 'the other checkout: --against <dir>'))
  await using started = new AsyncDisposableStack()
  const ours = started.use(await startQuarry(bench, name))
  const other = started.use(await startCheckout(bench, { checkout, name: `${name}-other` }))
  const kept = started.move()
  return { ours, other, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}
