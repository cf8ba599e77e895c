// One shard with text indexes in real workers, over a store of the test's choice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../lib/clock.ts'
import { isServiceError } from '../../../lib/errors.ts'
import { silentLog, type Log } from '../../../lib/log.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { HybridClock } from '../../../node/clock/hybrid-clock.ts'
import { unpackAnswer } from '../../../node/index/text/search/packed-answer.ts'
import type { TextSearchRequest } from '../../../node/index/text/search/text-search.ts'
import type { IndexDefinition } from '../../../node/index/host/index-definition.ts'
import {
  IndexWorkerPool,
  type IndexWorkerPoolOptions,
} from '../../../node/index/host/index-worker-pool.ts'
import { INDEX_KINDS, INDEX_WORKER } from '../../../node/index/kinds/index-kinds.ts'
import { parseQuery } from '../../../node/query/language/parse-query.ts'
import { DocumentRules } from '../../../node/schema/document-rules.ts'
import type { TableSchema } from '../../../node/schema/table-schema.ts'
import type { WriteOp } from '../../../node/shard/command/command.ts'
import { IndexEvents } from '../../../node/shard/following/index-events.ts'
import { LocalShard } from '../../../node/shard/local-shard.ts'
import type { IndexStatus } from '../../../node/shard/following/index-health.ts'
import { parseShardId } from '../../../node/shard/shard-id.ts'
import type { TableSettings } from '../../../node/shard/command/table-settings.ts'
import type { KvStore } from '../../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../../node/storage/level-kv-store.ts'
import { MemoryTableFields } from '../fakes/memory-table-fields.ts'
import { memoryBound } from './shard-world.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import { openTestJournal } from './test-journal.ts'
import { routesTo } from './routes.ts'

const ID = parseShardId('00000000000000aa')
const WAIT_MS = 60_000
export const WORDS: IndexDefinition = {
  id: '0123456789abcdef',
  kind: 'text',
  name: 'words',
  memOnly: false,
}

export interface TextShardOptions {
  readonly schema?: TableSchema
  readonly indexes?: readonly IndexDefinition[]
  /** Default true. */
  readonly hasIndexes?: boolean
  /** Default: of one thread. It is closed with the shard. */
  readonly pool?: IndexWorkerPool
  readonly log?: Log
}

export function settingsOf({ schema, indexes = [WORDS] }: TextShardOptions): TableSettings {
  const rules = new DocumentRules(schema)
  const ttl = rules.ttl && { ...rules.ttl, generation: 1 }
  return { tableId: ID, tableName: 'books', rules, ttl, schema, indexes }
}

/** `open` and `close` may alternate; the directory lasts until the end. */
export class TextShard implements AsyncDisposable {
  readonly directory: string
  readonly pool: IndexWorkerPool
  readonly fields = new MemoryTableFields()
  readonly events = new IndexEvents()
  readonly #log: Log
  readonly #journal: Journal
  #shard: LocalShard | undefined

  private constructor(directory: string, journal: Journal, options: TextShardOptions) {
    const { pool, log = silentLog } = options
    this.directory = directory
    this.#journal = journal
    this.pool = pool ?? openTestPool({ log })
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
      indexes: hasIndexes
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
    await this.shard.waitForIndexes({ signal: AbortSignal.timeout(60_000) })
  }

  /** The keys that the words are found in, in order, once the index serves: a busy machine starts workers late. */
  async find(words: string, index = WORDS.name): Promise<readonly string[]> {
    const deadlineMs = systemClock.monotonicMs() + WAIT_MS
    for (;;) {
      const limits = { signal: AbortSignal.timeout(WAIT_MS), deadlineMs }
      try {
        const answer = await this.shard.search(index, textSearch(words), limits)
        const { hits } = runAtOnce(unpackAnswer(answer))
        return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
      } catch (error) {
        // The shard has waited for the index before it said so.
        const isOver = systemClock.monotonicMs() > deadlineMs
        if (isOver || !isServiceError(error) || error.code !== 'UNAVAILABLE') throw error
      }
    }
  }

  status(index = WORDS.name): Promise<IndexStatus> {
    return this.shard.indexStatus(index)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await this.#journal.close()
    await this.pool.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** One thread, with the product's engines by default. */
export function openTestPool(options: Partial<IndexWorkerPoolOptions> = {}): IndexWorkerPool {
  const product = { kinds: INDEX_KINDS, entry: INDEX_WORKER }
  const usual = { clock: systemClock, log: silentLog, threads: 1 }
  return new IndexWorkerPool({ ...usual, ...product, ...options })
}

/** As a shard is asked. */
export function textSearch(words: string, field?: string) {
  return { kind: 'text', question: 'search', request: searchFor(words, field) } as const
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
