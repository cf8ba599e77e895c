import * as fc from 'fast-check'
import { COMMANDS, LEAP, RESTART } from '../support/models/model-commands.ts'
import { compareAll } from '../support/models/model-operations.ts'
import type { Subject } from '../support/models/model-operations.ts'
import type { KillableStore, StorePlace } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import type { Answer } from '../support/servers/store-client.ts'
import { StoreModel } from '../support/models/store-model.ts'

const COMMANDS_MAX = 160

export interface ModelOptions {
  readonly seed: number
  readonly runs: number
  /** What one run may take. */
  readonly runTimeoutMs: number
}

/** The store answers as a small model does, wherever it runs. */
export function describeModel(
  place: StorePlace<KillableStore>,
  { seed, runs, runTimeoutMs }: ModelOptions,
): void {
  describe(`the store against a model, of ${place.name}`, () => {
    it('answers every request as the model does, over restarts and leaps of the clock', async () => {
      await using subject = await RestartableStore.start(place)
      const common = Array.from({ length: 12 }, () => COMMANDS).flat()
      const leaps = subject.mayLeap ? [LEAP, LEAP] : []
      const sequences = fc.commands([...common, ...leaps, RESTART], {
        maxCommands: COMMANDS_MAX,
        size: 'max',
      })
      let model = new StoreModel()
      const property = fc.asyncProperty(sequences, async (commands) => {
        await subject.clear()
        model = new StoreModel()
        await fc.asyncModelRun(() => ({ model, real: subject }), commands)
        await compareAll(model, subject)
      })

      try {
        await fc.assert(property, { seed, numRuns: runs })
        // The only one of a few runs, perhaps.
        await subject.restart()
        await compareAll(model, subject)
      } catch (error) {
        const message = `the store and the model differ; its log:\n${subject.log}`
        throw new Error(message, { cause: error })
      } finally {
        process.stdout.write(
          `      runs ${runs}, requests ${subject.requests}, restarts ${subject.restarts}, ` +
            `leaps ${subject.leaps}, QUARRY_TEST_SEED=${seed}\n`,
        )
      }
    }).timeout(runs * runTimeoutMs + 60_000)
  })
}

class RestartableStore implements Subject, AsyncDisposable {
  readonly versions: Subject['versions'] = new Map()
  readonly #place: StorePlace<KillableStore>
  #store: KillableStore
  #client: StoreClient
  #requests = 0
  #restarts = 0
  #leaps = 0

  private constructor(place: StorePlace<KillableStore>, store: KillableStore) {
    this.#place = place
    this.#store = store
    this.#client = new StoreClient(() => store.api)
  }

  static async start(place: StorePlace<KillableStore>): Promise<RestartableStore> {
    return new RestartableStore(place, await place.open())
  }

  get log(): string {
    return this.#store.log
  }

  get requests(): number {
    return this.#requests
  }

  get restarts(): number {
    return this.#restarts
  }

  get leaps(): number {
    return this.#leaps
  }

  get mayLeap(): boolean {
    return this.#store.leap !== undefined
  }

  leap(): void {
    this.#store.leap?.()
    this.#leaps += 1
  }

  send(method: string, requestPath: string, body?: unknown): Promise<Answer> {
    this.#requests += 1
    return this.#client.send(method, requestPath, body)
  }

  /** Every second time a store that survives it loses one node. */
  async restart(): Promise<void> {
    if (this.#restarts % 2 === 0) await this.#store.killSome()
    else await this.#store.kill()
    await this.#store.start()
    this.#restarts += 1
  }

  /** Drops every table. A store that cannot is replaced, so that shrinking can continue. */
  async clear(): Promise<void> {
    this.versions.clear()
    try {
      await this.#dropAll()
    } catch {
      await this[Symbol.asyncDispose]()
      this.#store = await this.#place.open()
      this.#client = new StoreClient(() => this.#store.api)
    }
  }

  async #dropAll(): Promise<void> {
    const { text } = await this.#client.succeed('GET', '/api/v1/tables')
    const tables: readonly { readonly name: string }[] = JSON.parse(text)
    for (const { name } of tables) await this.#client.succeed('DELETE', `/api/v1/tables/${name}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]()
    await this.#store[Symbol.asyncDispose]()
  }
}
