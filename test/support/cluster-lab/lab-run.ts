// Rounds over one cluster: clients work while a scenario brings faults about; then everything heals, and all
// that the clients were told must be true.

import { systemClock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Violation } from '../checkers/client-history.ts'
import type { ClusterLab } from './cluster-lab.ts'
import type { Scenario, Stage } from './scenarios/scenario.ts'
import { BankWorkload } from './workloads/bank-workload.ts'
import { CounterWorkload } from './workloads/counter-workload.ts'
import { ListWorkload } from './workloads/list-workload.ts'
import { RegisterWorkload } from './workloads/register-workload.ts'
import { SetWorkload } from './workloads/set-workload.ts'
import { insist, type Workload, type WorkloadWorld } from './workloads/workload.ts'

const POLL_MS = 50
const THINK_MS = 60
const HEALED_LIMIT_MS = 120_000

const WORKLOADS: Readonly<Record<string, new (world: WorkloadWorld) => Workload>> = {
  registers: RegisterWorkload,
  set: SetWorkload,
  bank: BankWorkload,
  counters: CounterWorkload,
  lists: ListWorkload,
}

export interface LabRunOptions {
  readonly lab: ClusterLab
  /** How long the faults of a round last. */
  readonly lastsMs: number
  /** Names of workloads; all by default. */
  readonly workloads?: readonly string[]
  /** The longest pause of a client between two operations. Default: THINK_MS. */
  readonly thinkMs?: number
  /** Takes events of the history, each a plain object. */
  readonly record: (event: object) => void
}

/** What came of one round. */
export interface Round {
  readonly id: string
  readonly tookMs: number
  readonly kills: number
  /** Those of the kills that met a node which served; the others met a start. */
  readonly servingKills: number
  readonly acknowledged: number
  readonly outcomes: Readonly<Record<'ok' | 'fail' | 'unknown', number>>
  /** The longest time without one acknowledgement in the whole cluster. */
  readonly stallMs: number
  /** Promises that were broken. */
  readonly violations: readonly Violation[]
}

export class LabRun {
  readonly #options: LabRunOptions
  #rounds = 0

  constructor(options: LabRunOptions) {
    this.#options = options
  }

  /** Never rejects: a round that cannot be ended is a violation. */
  async round(scenario: Scenario): Promise<Round> {
    const { lab, record } = this.#options
    const number = ++this.#rounds
    const began = {
      ms: systemClock.monotonicMs(),
      kills: lab.kills,
      serving: lab.servingKills,
      ...lab.client.outcomes,
    }
    record({ event: 'round', number, scenario: scenario.id, title: scenario.title })
    const found: Violation[] = []
    const play = new Play(this.#options, number, found)
    try {
      await play.run(scenario)
    } catch (error) {
      found.push({ rule: 'round', description: messageOf(error) })
    }
    await play.stop()
    const violations = [...found, ...play.workloads.flatMap((one) => one.violations())]
    for (const { name, operations } of play.workloads) {
      record({ event: 'history', number, workload: name, operations })
    }
    const { ok, fail, unknown } = lab.client.outcomes
    const round: Round = {
      id: scenario.id,
      tookMs: systemClock.monotonicMs() - began.ms,
      kills: lab.kills - began.kills,
      servingKills: lab.servingKills - began.serving,
      acknowledged: play.acknowledged,
      outcomes: {
        ok: ok - began.ok,
        fail: fail - began.fail,
        unknown: unknown - began.unknown,
      },
      stallMs: play.stallMs,
      violations,
    }
    record({ event: 'ended', number, ...round })
    return round
  }
}

/** The clients of one round. */
class Play {
  readonly workloads: readonly Workload[]
  readonly #options: LabRunOptions
  readonly #found: Violation[]
  readonly #tables: readonly string[]
  readonly #over = new AbortController()
  #clients: readonly Promise<void>[] = []
  stallMs = 0

  constructor(options: LabRunOptions, number: number, found: Violation[]) {
    const { lab, workloads = Object.keys(WORKLOADS) } = options
    this.#options = options
    this.#found = found
    this.#tables = workloads.map((name) => `r${number}_${name}`)
    this.workloads = workloads.map((name, i) => {
      const Chosen = WORKLOADS[name]
      if (Chosen === undefined) throw new Error(`there is no workload ${name}`)
      return new Chosen({ lab, table: this.#tables[i]! })
    })
  }

  get acknowledged(): number {
    return this.workloads.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  async run(scenario: Scenario): Promise<void> {
    const { lab } = this.#options
    for (const workload of this.workloads) await workload.prepare()
    await lab.untilInSync(HEALED_LIMIT_MS)
    this.#clients = [...this.workloads.flatMap((one) => this.#clientsOf(one)), this.#watchStalls()]
    await this.#progress(HEALED_LIMIT_MS)
    const stage = this.#stage()
    try {
      await scenario.run(stage)
    } finally {
      await scenario.undo?.(stage)
      await lab.heal()
    }
    this.#note('healed')
    await this.#progress(HEALED_LIMIT_MS)
    await lab.untilInSync(HEALED_LIMIT_MS)
    await this.stop()
    for (const workload of this.workloads) await workload.readBack()
    await this.#leadElsewhere()
    for (const workload of this.workloads) await workload.readBack()
    for (const table of this.#tables) {
      await insist(lab, { method: 'DELETE', path: `/api/v1/tables/${table}` })
    }
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#clients)
  }

  #stage(): Stage {
    const { lab, lastsMs } = this.#options
    return {
      lab,
      lastsMs,
      progress: (limitMs) => this.#progress(limitMs),
      note: (text) => this.#note(text),
      finding: (rule, description) => void this.#found.push({ rule, description }),
    }
  }

  #note(text: string): void {
    this.#options.record({ event: 'note', text })
  }

  #clientsOf(workload: Workload): readonly Promise<void>[] {
    const { lab, thinkMs = THINK_MS } = this.#options
    return Array.from({ length: workload.clients }, async (_, client) => {
      while (!this.#over.signal.aborted) {
        await workload.step(client)
        await systemClock.sleep(lab.between(1, thinkMs))
      }
    })
  }

  async #watchStalls(): Promise<void> {
    let before = this.acknowledged
    let sinceMs = systemClock.monotonicMs()
    while (!this.#over.signal.aborted) {
      await systemClock.sleep(POLL_MS)
      const nowMs = systemClock.monotonicMs()
      this.stallMs = Math.max(this.stallMs, nowMs - sinceMs)
      if (this.acknowledged === before) continue
      before = this.acknowledged
      sinceMs = nowMs
    }
  }

  async #progress(limitMs: number): Promise<number> {
    const before = this.workloads.map(({ acknowledged }) => acknowledged)
    const beganMs = systemClock.monotonicMs()
    for (;;) {
      const waits = this.workloads.filter(
        ({ acknowledged }, i) => acknowledged < (before[i] ?? 0) + 2,
      )
      const tookMs = Math.round(systemClock.monotonicMs() - beganMs)
      if (waits.length === 0) return tookMs
      if (tookMs > limitMs) {
        const names = waits.map(({ name }) => name).join(', ')
        const shards = JSON.stringify(await this.#options.lab.shards())
        throw new Error(`no write of ${names} was acknowledged in ${limitMs} ms: ${shards}`)
      }
      await systemClock.sleep(POLL_MS)
    }
  }

  /** Reads that follow come from replicas that followed before. */
  async #leadElsewhere(): Promise<void> {
    const { lab } = this.#options
    for (const { id, leader, replicas } of (await lab.shards()) ?? []) {
      const others = replicas.filter(({ node, in_sync }) => in_sync && node !== leader)
      if (others.length === 0) continue
      const path = `/api/v1/cluster/shards/${id}/transfer-leader`
      await lab.ask({ method: 'POST', path, body: { to: lab.pick(others).node } })
    }
  }
}
