// Load, SIGKILL, restart, check; again and again over one data directory.

import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import type { Load, LoadContext } from './load.ts'
import { BankLoad } from './bank-load.ts'
import { CounterLoad } from './counter-load.ts'
import { EnrichedLoad } from './enriched-load.ts'
import { FleetingLoad } from './fleeting-load.ts'
import { GroupLoad } from './group-load.ts'
import { expectIndexAgrees } from '../models/index-agreement.ts'
import { MergeLoad } from './merge-load.ts'
import { ProseLoad } from './prose-load.ts'
import { RegisterLoad } from './register-load.ts'
import type { KillableStore } from '../places/store-under-test.ts'
import type { ProviderServer } from '../servers/providers/provider-server.ts'
import { ConnectionLost, type StoreClient } from '../servers/store-client.ts'

/** Acknowledged writes of a round before the kill: from none to about a second's worth. */
const WRITES_PER_ROUND_MAX = 700
/** How often the restart is killed as well, before the one that is checked. */
const KILLED_START_RATIO = 0.2
const KILLED_START_MAX_MS = 500
/** How often the kill comes in the middle of an orderly end, when indexes are written to disk. */
const KILLED_STOP_RATIO = 0.25
const KILLED_STOP_MAX_MS = 300
/** How often a store that survives the loss of a node loses one while clients continue to write. */
const SURVIVED_RATIO = 0.5
/** Acknowledged writes after such a loss. */
const WRITES_AFTER_LOSS = 100
const INTENTS_DEADLINE_MS = 60_000
const STATUS_PERIOD_MS = 20

const NEVER = new AbortController().signal

export interface CrashRoundsOptions {
  readonly store: KillableStore
  readonly context: LoadContext
  /** Embeds texts for the store. It outlives the store. */
  readonly provider: ProviderServer
}

/** The caller disposes the store. */
export class CrashRounds {
  readonly #context: LoadContext
  readonly #loads: readonly Load[]
  readonly #store: KillableStore
  #kills = 0

  private constructor({ store, context, provider }: CrashRoundsOptions) {
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
      new EnrichedLoad(context, provider),
    ]
  }

  static async open(options: CrashRoundsOptions): Promise<CrashRounds> {
    const rounds = new CrashRounds(options)
    using client = options.store.connect(NEVER)
    for (const load of rounds.#loads) await load.prepare(client)
    return rounds
  }

  get kills(): number {
    return this.#kills
  }

  /** One kill under load, perhaps one during the restart, and the check. */
  async runOne(): Promise<void> {
    const { random } = this.#context
    const writes = Math.floor(random() * WRITES_PER_ROUND_MAX)
    const survives = this.#store.survives && random() < SURVIVED_RATIO
    if (survives) await this.#loadOverLoss(writes)
    else await this.#loadUntilKilled(writes)
    if (random() < KILLED_START_RATIO) {
      await this.#store.startAndKill(random() * KILLED_START_MAX_MS)
      this.#kills += 1
    }
    await this.#restart()
  }

  /** SIGTERM, an orderly end, and the same check. */
  async stopAndRestart(): Promise<void> {
    const { exitCodes, log } = await this.#store.stop()
    expect(new Set(exitCodes), log).to.deep.equal(new Set([0]))
    await this.#restart()
  }

  async #restart(): Promise<void> {
    await this.#store.start()
    await this.#expectHealthy()
    using client = this.#store.connect(NEVER)
    for (const load of this.#loads) await load.check(client)
    for (const { tables } of this.#loads) {
      for (const table of tables) await expectIndexAgrees(client, table)
    }
  }

  async #loadUntilKilled(writes: number): Promise<void> {
    const { tally } = this.#context
    const over = new AbortController()
    using client = this.#store.connect(over.signal)
    const clients = this.#begin(client, over.signal)
    try {
      await Promise.race([tally.reached(tally.count + writes), Promise.all(clients)])
    } finally {
      over.abort()
      await this.#end(clients)
      this.#kills += 1
    }
    await Promise.all(clients)
  }

  /** A node is lost, and clients that retry notice no more than a delay. */
  async #loadOverLoss(writes: number): Promise<void> {
    const { tally } = this.#context
    const over = new AbortController()
    using client = this.#store.connect(NEVER)
    const clients = this.#begin(client, over.signal)
    const failed = Promise.all(clients)
    try {
      await Promise.race([tally.reached(tally.count + writes), failed])
      await this.#store.killSome()
      this.#kills += 1
      await Promise.race([tally.reached(tally.count + WRITES_AFTER_LOSS), failed])
    } finally {
      over.abort()
      await Promise.allSettled(clients)
    }
    await failed
  }

  /** All clients of all loads, until `over` aborts. */
  #begin(client: StoreClient, over: AbortSignal): readonly Promise<void>[] {
    const steps = this.#loads.flatMap((load) => load.clients)
    return steps.map(async (step) => {
      try {
        while (!over.aborted) await step(client)
      } catch (error) {
        if (!over.aborted || !(error instanceof ConnectionLost)) throw error
      }
    })
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
  async #expectHealthy(): Promise<void> {
    for (const health of this.#store.health) {
      const ready = await fetch(`${health}/readyz`)
      expect(ready.status, await ready.text()).to.equal(200)
    }
    for (const api of this.#store.apis) await expectHealthyNode(api, this.#store.survives)
  }
}

/**
 * Only the node that leads a shard knows its intents. A node asks the others for their shards, and says so if one does
 * not answer in time: `isAsking`. One process knows its own at once.
 */
async function expectHealthyNode(api: string, isAsking: boolean): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + INTENTS_DEADLINE_MS
  for (;;) {
    const text = await (await fetch(`${api}/api/v1/status`)).text()
    const status: Status = JSON.parse(text)
    const states = Object.values(status.shards)
    const isServing = states.every(({ state }) => state === 'serving')
    if (!isAsking) expect(isServing, text).to.equal(true)
    const isResolved = states.every(({ pending_intents: count }) => count === 0)
    if (isServing && isResolved && status.health === 'healthy') return
    expect(systemClock.monotonicMs(), `not healthy yet: ${text}`).to.be.below(deadlineMs)
    await systemClock.sleep(STATUS_PERIOD_MS)
  }
}

interface Status {
  readonly health: string
  readonly shards: Readonly<
    Record<string, { readonly state: string; readonly pending_intents: number }>
  >
}
