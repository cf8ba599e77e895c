// One shard with text indexes in real workers, over a store of the test's choice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { HybridClock } from '../../node/clock/hybrid-clock.ts'
import type { TextSearchRequest } from '../../node/index/text/search/text-search.ts'
import { TextWorkerPool } from '../../node/index/text/worker/text-worker-pool.ts'
import { parseQuery } from '../../node/query/language/parse-query.ts'
import { DocumentRules } from '../../node/schema/document-rules.ts'
import type { TableSchema } from '../../node/schema/table-schema.ts'
import type { WriteOp } from '../../node/shard/apply/command.ts'
import { LocalShard } from '../../node/shard/local-shard.ts'
import type { TextIndexStatus } from '../../node/shard/shard.ts'
import { parseShardId } from '../../node/shard/shard-id.ts'
import type { TableSettings, TextIndexDefinition } from '../../node/shard/table-settings.ts'
import type { KvStore } from '../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../node/storage/level-kv-store.ts'
import { memoryBound } from './shard-world.ts'

const ID = parseShardId('00000000000000aa')
export const WORDS: TextIndexDefinition = { name: 'words', memOnly: false }

export interface TextShardOptions {
  readonly schema?: TableSchema
  readonly indexes?: readonly TextIndexDefinition[]
  /** Default true. */
  readonly hasIndexes?: boolean
}

export function settingsOf({ schema, indexes = [WORDS] }: TextShardOptions): TableSettings {
  const rules = new DocumentRules(schema)
  return { rules, ttl: rules.ttl, schema, textIndexes: indexes }
}

/** `open` and `close` may alternate; the directory lasts until the end. */
export class TextShard implements AsyncDisposable {
  readonly directory: string
  readonly pool = new TextWorkerPool({ clock: systemClock, log: silentLog, threads: 1 })
  #shard: LocalShard | undefined

  private constructor(directory: string) {
    this.directory = directory
  }

  static async open(options: TextShardOptions = {}): Promise<TextShard> {
    const made = new TextShard(await mkdtemp(path.join(tmpdir(), 'quarry-text-shard-')))
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
    this.#shard = await LocalShard.open({
      id: ID,
      range: { start: Buffer.alloc(0), end: undefined },
      store,
      hybridClock: await HybridClock.open(clock, memoryBound),
      clock,
      router: { shardAt: () => undefined },
      settings: settingsOf(options),
      text: hasIndexes ? { pool: this.pool, root, log: silentLog } : undefined,
    })
  }

  async close(): Promise<void> {
    await this.#shard?.close()
    this.#shard = undefined
  }

  async write(...ops: readonly WriteOp[]): Promise<void> {
    await this.shard.write({ checks: [], ops, ttl: this.shard.ttl })
  }

  /** Everything written before is searchable. */
  async caughtUp(): Promise<void> {
    await this.shard.waitForText({ signal: AbortSignal.timeout(10_000) })
  }

  /** The keys that the words are found in, in order. */
  async find(words: string, index = WORDS.name): Promise<readonly string[]> {
    const deadlineMs = systemClock.monotonicMs() + 10_000
    const limits = { signal: AbortSignal.timeout(10_000), deadlineMs }
    const { hits } = await this.shard.searchText(index, searchFor(words), limits)
    return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
  }

  status(index = WORDS.name): Promise<TextIndexStatus> {
    return this.shard.textIndexStatus(index)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await this.pool.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

export function searchFor(words: string): TextSearchRequest {
  const query = parseQuery({ match: words, field: 'text' }, 'query')
  return {
    conditions: { query, filter: undefined, exclusion: undefined, keyPrefix: undefined },
    order: [{ field: '_score', isDescending: true }],
    window: { kind: 'first', limit: 1000 },
    aggregations: new Map(),
    statistics: undefined,
    nowMs: systemClock.nowMs(),
  }
}

export function textOp(key: string, text: string): Extract<WriteOp, { kind: 'put' }> {
  const json = Buffer.from(JSON.stringify({ text }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}
