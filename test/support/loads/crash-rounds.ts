// Load, SIGKILL, restart, check; again and again over one data directory.

import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import type { Load, LoadContext } from './load.ts'
import { BankLoad } from './bank-load.ts'
import { CounterLoad } from './counter-load.ts'
import { FleetingLoad } from './fleeting-load.ts'
import { GroupLoad } from './group-load.ts'
import { expectIndexAgrees } from '../models/index-agreement.ts'
import { MergeLoad } from './merge-load.ts'
import { ProseLoad } from './prose-load.ts'
import { RegisterLoad } from './register-load.ts'
import { ConnectionLost, StoreClient } from '../servers/store-client.ts'
import { StoreProcess, killedStart } from '../processes/store-process.ts'

/** Acknowledged writes of a round before the kill: from none to about a second's worth. */
const WRITES_PER_ROUND_MAX = 700
/** How often the restart is killed as well, before the one that is checked. */
const KILLED_START_RATIO = 0.2
const KILLED_START_MAX_MS = 500
/** How often the kill comes in the middle of an orderly end, when indexes are written to disk. */
const KILLED_STOP_RATIO = 0.25
const KILLED_STOP_MAX_MS = 300
const INTENTS_DEADLINE_MS = 60_000
const STATUS_PERIOD_MS = 20

export interface CrashRoundsOptions {
  readonly dataDir: string
  readonly context: LoadContext
}

export class CrashRounds implements AsyncDisposable {
  readonly #dataDir: string
  readonly #context: LoadContext
  readonly #loads: readonly Load[]
  #store: StoreProcess
  #kills = 0

  private constructor({ dataDir, context }: CrashRoundsOptions, store: StoreProcess) {
    this.#dataDir = dataDir
    this.#context = context
    this.#store = store
    this.#loads = [
      new RegisterLoad(context),
      new GroupLoad(context),
      new BankLoad(context),
      new MergeLoad(context),
      new FleetingLoad(context),
      new CounterLoad(context),
      new ProseLoad(context),
    ]
  }

  static async open(options: CrashRoundsOptions): Promise<CrashRounds> {
    const store = await StoreProcess.start({ dataDir: options.dataDir })
    const rounds = new CrashRounds(options, store)
    using client = new StoreClient(store.api)
    for (const load of rounds.#loads) await load.prepare(client)
    return rounds
  }

  get kills(): number {
    return this.#kills
  }

  /** One kill under load, perhaps one during the restart, and the check. */
  async runOne(): Promise<void> {
    const { random } = this.#context
    await this.#loadUntilKilled(Math.floor(random() * WRITES_PER_ROUND_MAX))
    if (random() < KILLED_START_RATIO) {
      await killedStart({ dataDir: this.#dataDir }, random() * KILLED_START_MAX_MS)
      this.#kills += 1
    }
    await this.#restart()
  }

  /** SIGTERM, an orderly end, and the same check. */
  async stopAndRestart(): Promise<void> {
    const { exitCode, log } = await this.#store.stop()
    expect(exitCode, log).to.equal(0)
    await this.#restart()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.kill()
  }

  async #restart(): Promise<void> {
    this.#store = await StoreProcess.start({ dataDir: this.#dataDir })
    using client = new StoreClient(this.#store.api)
    await this.#expectHealthy(client)
    for (const load of this.#loads) await load.check(client)
    for (const { tables } of this.#loads) {
      for (const table of tables) await expectIndexAgrees(client, table)
    }
  }

  async #loadUntilKilled(writes: number): Promise<void> {
    const { tally } = this.#context
    const over = new AbortController()
    using client = new StoreClient(this.#store.api)
    const clients = this.#loads
      .flatMap((load) => load.clients)
      .map(async (step) => {
        try {
          while (!over.signal.aborted) await step(client)
        } catch (error) {
          if (!over.signal.aborted || !(error instanceof ConnectionLost)) throw error
        }
      })
    try {
      await Promise.race([tally.reached(tally.count + writes), Promise.all(clients)])
    } finally {
      over.abort()
      await this.#end(clients)
      this.#kills += 1
    }
    await Promise.all(clients)
  }

  async #end(clients: readonly Promise<void>[]): Promise<void> {
    const { random } = this.#context
    if (random() >= KILLED_STOP_RATIO) {
      await this.#store.kill()
      return
    }
    await Promise.allSettled(clients)
    await this.#store.stopAndKill(random() * KILLED_STOP_MAX_MS)
  }

  /** Without any help, intents of dead transactions vanish, and lost indexes are built again. */
  async #expectHealthy(client: StoreClient): Promise<void> {
    const ready = await fetch(`${this.#store.health}/readyz`)
    expect(ready.status, await ready.text()).to.equal(200)
    const deadlineMs = systemClock.monotonicMs() + INTENTS_DEADLINE_MS
    for (;;) {
      const { text } = await client.succeed('GET', '/api/v1/status')
      const status: Status = JSON.parse(text)
      const states = Object.values(status.shards)
      expect(
        states.every(({ state }) => state === 'serving'),
        text,
      ).to.equal(true)
      const isResolved = states.every(({ pending_intents: count }) => count === 0)
      if (isResolved && status.health === 'healthy') return
      expect(systemClock.monotonicMs(), `not healthy yet: ${text}`).to.be.below(deadlineMs)
      await systemClock.sleep(STATUS_PERIOD_MS)
    }
  }
}

interface Status {
  readonly health: string
  readonly shards: Readonly<
    Record<string, { readonly state: string; readonly pending_intents: number }>
  >
}
