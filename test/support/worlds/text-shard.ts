// One shard with text indexes in real workers, over a store of the test's choice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../lib/clock.ts'
import { silentLog, type Log } from '../../../lib/log.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { HybridClock } from '../../../node/clock/hybrid-clock.ts'
import type { TextSearchRequest } from '../../../node/index/text/search/text-search.ts'
import { TextWorkerPool } from '../../../node/index/text/worker/text-worker-pool.ts'
import { parseQuery } from '../../../node/query/language/parse-query.ts'
import { DocumentRules } from '../../../node/schema/document-rules.ts'
import type { TableSchema } from '../../../node/schema/table-schema.ts'
import type { WriteOp } from '../../../node/shard/apply/command.ts'
import { TextIndexEvents } from '../../../node/shard/indexing/text-index-events.ts'
import { LocalShard } from '../../../node/shard/local-shard.ts'
import type { TextIndexStatus } from '../../../node/shard/shard.ts'
import { parseShardId } from '../../../node/shard/shard-id.ts'
import type { TableSettings, TextIndexDefinition } from '../../../node/shard/table-settings.ts'
import type { KvStore } from '../../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../../node/storage/level-kv-store.ts'
import { MemoryTableFields } from '../fakes/memory-table-fields.ts'
import { memoryBound } from './shard-world.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import { openTestJournal } from './test-journal.ts'
import { routesTo } from './routes.ts'

const ID = parseShardId('00000000000000aa')
export const WORDS: TextIndexDefinition = { name: 'words', memOnly: false }

export interface TextShardOptions {
  readonly schema?: TableSchema
  readonly indexes?: readonly TextIndexDefinition[]
  /** Default true. */
  readonly hasIndexes?: boolean
  /** Default: of one thread. It is closed with the shard. */
  readonly pool?: TextWorkerPool
  readonly log?: Log
}

export function settingsOf({ schema, indexes = [WORDS] }: TextShardOptions): TableSettings {
  const rules = new DocumentRules(schema)
  return { tableId: ID, tableName: 'books', rules, ttl: rules.ttl, schema, textIndexes: indexes }
}

/** `open` and `close` may alternate; the directory lasts until the end. */
export class TextShard implements AsyncDisposable {
  readonly directory: string
  readonly pool: TextWorkerPool
  readonly fields = new MemoryTableFields()
  readonly events = new TextIndexEvents()
  readonly #log: Log
  readonly #journal: Journal
  #shard: LocalShard | undefined

  private constructor(directory: string, journal: Journal, options: TextShardOptions) {
    const { pool, log = silentLog } = options
    this.directory = directory
    this.#journal = journal
    this.pool = pool ?? new TextWorkerPool({ clock: systemClock, log, threads: 1 })
    this.#log = log
  }

  static async open(options: TextShardOptions = {}): Promise<TextShard> {
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-text-shard-'))
    const journal = await openTestJournal({ clock: systemClock })
    const made = new TextShard(directory, journal, options)
    await made.open(options)
    return made
  }

  get shard(): LocalShard {
    if (this.#shard === undefined) throw new TypeError('the shard is closed')
    return this.#shard
  }

  get indexRoot(): string {
    return path.join(this.directory, 'indexes', ID)
  }

  async open(options: TextShardOptions = {}): Promise<void> {
    const { hasIndexes = true } = options
    const clock = systemClock
    const store: KvStore = await LevelKvStore.open(path.join(this.directory, 'store'), { clock })
    const root = path.join(this.directory, 'indexes')
    const fields = { of: () => this.fields }
    this.#shard = await LocalShard.open({
      id: ID,
      range: { start: Buffer.alloc(0), end: undefined },
      store,
      journal: this.#journal,
      hybridClock: await HybridClock.open(clock, memoryBound),
      clock,
      router: routesTo(() => undefined),
      settings: settingsOf(options),
      text: hasIndexes
        ? { pool: this.pool, root, fields, log: this.#log, events: this.events }
        : undefined,
    })
  }

  async close(): Promise<void> {
    await this.#shard?.close()
    this.#shard = undefined
  }

  async write(...ops: readonly WriteOp[]): Promise<void> {
    await this.shard.write({ checks: [], ops, ttl: this.shard.ttl })
    await this.shard.settled() // so that a test may look into the store
  }

  /** Everything written before is searchable. */
  async caughtUp(): Promise<void> {
    await this.shard.waitForText({ signal: AbortSignal.timeout(60_000) })
  }

  /** The keys that the words are found in, in order. */
  async find(words: string, index = WORDS.name): Promise<readonly string[]> {
    const deadlineMs = systemClock.monotonicMs() + 60_000
    const limits = { signal: AbortSignal.timeout(60_000), deadlineMs }
    const { hits } = await this.shard.searchText(index, searchFor(words), limits)
    return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
  }

  status(index = WORDS.name): Promise<TextIndexStatus> {
    return this.shard.textIndexStatus(index)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await this.#journal.close()
    await this.pool.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

export function searchFor(words: string, field = 'text'): TextSearchRequest {
  const query = parseQuery({ match: words, field }, 'query')
  return {
    conditions: { query, filter: undefined, exclusion: undefined, keyPrefix: undefined },
    order: [{ field: '_score', isDescending: true }],
    window: { kind: 'first', limit: 1000 },
    aggregations: new Map(),
    statistics: undefined,
    nowMs: systemClock.nowMs(),
  }
}

export function textOp(
  key: string,
  text: string,
  more: JsonObject = {},
): Extract<WriteOp, { kind: 'put' }> {
  const json = Buffer.from(JSON.stringify({ text, ...more }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}
