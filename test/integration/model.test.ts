import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import * as fc from 'fast-check'
import { COMMANDS, LEAP, RESTART } from '../support/models/model-commands.ts'
import { compareAll } from '../support/models/model-operations.ts'
import type { Subject } from '../support/models/model-operations.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import type { Answer } from '../support/servers/store-client.ts'
import { StoreModel } from '../support/models/store-model.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const COMMANDS_MAX = 160
const RUN_TIMEOUT_MS = 20_000

describe('the store against a model', () => {
  const { seed, modelRuns } = parseTestSettings(process.env)
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-model-'))
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
  })

  it('answers every request as the model does, over restarts and leaps of the clock', async () => {
    await using subject = await RestartableStore.start(path.join(folder, 'data'))
    const all = [...Array.from({ length: 12 }, () => COMMANDS).flat(), LEAP, LEAP, RESTART]
    const sequences = fc.commands(all, { maxCommands: COMMANDS_MAX, size: 'max' })
    const property = fc.asyncProperty(sequences, async (commands) => {
      await subject.clear()
      const model = new StoreModel()
      await fc.asyncModelRun(() => ({ model, real: subject }), commands)
      await compareAll(model, subject)
    })

    try {
      await fc.assert(property, { seed, numRuns: modelRuns })
    } catch (error) {
      throw new Error(`the store and the model differ; its log:\n${subject.log}`, { cause: error })
    } finally {
      process.stdout.write(
        `      runs ${modelRuns}, requests ${subject.requests}, restarts ${subject.restarts}, ` +
          `leaps ${subject.leaps}, QUARRY_TEST_SEED=${seed}\n`,
      )
    }
  }).timeout(modelRuns * RUN_TIMEOUT_MS + 30_000)
})

class RestartableStore implements Subject, AsyncDisposable {
  readonly versions: Subject['versions'] = new Map()
  #dataDir: string
  #process: StoreProcess
  #client: StoreClient
  #requests = 0
  #restarts = 0
  #leaps = 0

  private constructor(dataDir: string, started: StoreProcess) {
    this.#dataDir = dataDir
    this.#process = started
    this.#client = new StoreClient(started.api)
  }

  static async start(dataDir: string): Promise<RestartableStore> {
    return new RestartableStore(dataDir, await startLeaping(dataDir))
  }

  get log(): string {
    return this.#process.log
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

  leap(): void {
    this.#process.leap()
    this.#leaps += 1
  }

  send(method: string, requestPath: string, body?: unknown): Promise<Answer> {
    this.#requests += 1
    return this.#client.send(method, requestPath, body)
  }

  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]()
    this.#process = await startLeaping(this.#dataDir)
    this.#client = new StoreClient(this.#process.api)
    this.#restarts += 1
  }

  /** Drops every table. A store that cannot is replaced, so that shrinking can continue. */
  async clear(): Promise<void> {
    this.versions.clear()
    try {
      await this.#dropAll()
    } catch {
      this.#dataDir += '-next'
      await this.restart()
    }
  }

  async #dropAll(): Promise<void> {
    const { text } = await this.#client.succeed('GET', '/api/v1/tables')
    const tables: readonly { readonly name: string }[] = JSON.parse(text)
    for (const { name } of tables) await this.#client.succeed('DELETE', `/api/v1/tables/${name}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]()
    await this.#process.kill()
  }
}

function startLeaping(dataDir: string): Promise<StoreProcess> {
  return StoreProcess.start({ dataDir, leapingClock: true })
}
