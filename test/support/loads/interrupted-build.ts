// A store that ends while it builds an index, by force or in order: a new index, or the one of a
// changed schema.

import { expectIndexAgrees } from '../models/index-agreement.ts'
import { countTo, FOUR_SHARDS, scatteredKey } from './load.ts'
import type { KillableStore } from '../places/store-under-test.ts'
import { StoreClient } from '../servers/store-client.ts'

const TABLE = 'archive'
const DOCUMENTS = 8000
const DOCUMENTS_PER_BATCH = 1000
const INDEXES = `/api/v1/tables/${TABLE}/indexes`
const BUILT_IN = 'full_text_index_v0'
const ADDED = 'added'
const TEXT = 'Every ship that came in was written down, with her master, her freight and the wind'

/** SIGKILL or SIGTERM. */
export type End = 'kill' | 'stop'

/** The caller disposes the store. */
export class InterruptedBuild implements Disposable {
  /** Builds that were seen to be under way right before the end. */
  cutShort = 0
  readonly #store: KillableStore
  readonly #client: StoreClient
  #changes = 0

  private constructor(store: KillableStore) {
    this.#store = store
    this.#client = new StoreClient(() => store.api)
  }

  static async open(store: KillableStore): Promise<InterruptedBuild> {
    const build = new InterruptedBuild(store)
    await build.#client.createTable(TABLE, FOUR_SHARDS)
    for (let from = 0; from < DOCUMENTS; from += DOCUMENTS_PER_BATCH) {
      const numbers = countTo(DOCUMENTS_PER_BATCH).map((index) => from + index)
      const inserts = numbers.map((n) => [keyOf(n), { n, text: `${TEXT} ${n}` }])
      await build.#client.batch(TABLE, { inserts: Object.fromEntries(inserts) })
    }
    await build.#agrees()
    return build
  }

  async newIndex(end: End): Promise<void> {
    await this.#client.succeed('POST', `${INDEXES}/${ADDED}`, { type: 'full_text' })
    await this.#endWhileBuilding(ADDED, end)
    await this.#agrees()
    await this.#client.succeed('DELETE', `${INDEXES}/${ADDED}`)
  }

  async newSchema(end: End): Promise<void> {
    this.#changes += 1
    const types = this.#changes % 2 === 0 ? ['text'] : ['text', 'keyword']
    const properties = { n: { type: 'number' }, text: { type: 'string', 'x-service-types': types } }
    const schema = { type: 'object', properties }
    const body = { default_type: 'entry', document_schemas: { entry: { schema } } }
    await this.#client.succeed('PUT', `/api/v1/tables/${TABLE}/schema`, body)
    await this.#endWhileBuilding(BUILT_IN, end)
    await this.#agrees()
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]()
  }

  /** Somewhere between the first and the last document. */
  async #endWhileBuilding(name: string, end: End): Promise<void> {
    for (;;) {
      const { text } = await this.#client.succeed('GET', `${INDEXES}/${name}`)
      const { status } = JSON.parse(text)
      const isDone = status.backfill_progress === 1 && !status.rebuilding
      if (!isDone && status.backfill_items_processed === 0) continue
      if (!isDone) this.cutShort += 1
      break
    }
    await this.#store[end]()
    await this.#store.start()
  }

  async #agrees(): Promise<void> {
    await expectIndexAgrees(this.#client, { table: TABLE, field: 'n', wordOf })
  }
}

/** Every text ends in its number. */
function wordOf(value: unknown): unknown {
  return { match: String(value), field: 'text' }
}

function keyOf(n: number): string {
  return scatteredKey(n)
}
