import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { IndexWorkerPool } from '../../index/host/index-worker-pool.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { TableSettings } from '../command/table-settings.ts'
import { INDEX_LAG_BYTES_MAX, IndexLag } from './index-lag.ts'
import { feedOf } from '../../index/kinds/index-kinds.ts'
import { indexedRange } from '../format/keyspace.ts'
import { chunkedIndexesOf, type ChunkedIndex } from './chunked-indexes.ts'
import type { TableFieldsDirectory } from './table-fields.ts'
import type { FollowedShard } from './followed-shard.ts'
import type { IndexEvents } from './index-events.ts'
import type { AnsweringVersion } from './index-health.ts'
import {
  directoryBaseOf,
  indexVersionOf,
  IndexVersions,
  parseIndexDirectoryName,
} from './index-versions.ts'

const ROOM_WAIT_MS_MAX = 2000
/** A given reason saves the error that `abort` would create. */
const ROOM_WAIT_OVER = 'the wait for room is over'

/** The parts that all shards of a node share for their indexes. */
export interface IndexParts {
  readonly pool: IndexWorkerPool
  /** Holds one directory for each shard, by its id. */
  readonly root: string
  readonly fields: TableFieldsDirectory
  readonly log: Log
  readonly events: IndexEvents
}

/** The indexes of one shard. It opens, builds and removes indexes as the table's record says. */
export class ShardIndexes {
  readonly #shard: FollowedShard
  readonly #parts: IndexParts
  readonly #clock: Clock
  readonly #root: string
  readonly #indexes = new Map<string, IndexVersions>()
  readonly #lag = new IndexLag()
  #wanted: TableSettings
  #chunked: readonly ChunkedIndex[]
  #working: Promise<void>

  constructor(
    shard: FollowedShard,
    parts: IndexParts,
    { clock, settings }: { readonly clock: Clock; readonly settings: TableSettings },
  ) {
    this.#shard = shard
    this.#parts = parts
    this.#clock = clock
    this.#root = path.join(parts.root, shard.id)
    this.#wanted = settings
    this.#chunked = chunkedIndexesOf(settings.indexes)
    this.#working = this.#openAll()
  }

  /** Removes the indexes of a shard that is closed. */
  static async remove({ root }: IndexParts, shardId: string): Promise<void> {
    await rm(path.join(root, shardId), { recursive: true, force: true })
  }

  /** Resolves when dropped indexes are removed from the disk and new ones are being built. */
  set(settings: TableSettings): Promise<void> {
    const before = new Set(this.#chunked.map(({ id }) => id))
    this.#wanted = settings
    this.#chunked = chunkedIndexesOf(settings.indexes)
    const added = this.#chunked.filter(({ id }) => !before.has(id))
    this.#working = this.#working.then(() => this.#reconcile()).then(() => this.#catchUp(added))
    return this.#working
  }

  /** The log entries above this one are still needed; Infinity without an index. */
  get neededAbove(): number {
    // The indexes are not open yet, and those on disk may need any log entry.
    if (this.#indexes.size < this.#wanted.indexes.length) return 0
    return Math.min(Infinity, ...this.#indexes.values().map(({ neededAbove }) => neededAbove))
  }

  /** Counts a write for the lag. `sequence` is its log entry or a later one. */
  wrote(bytes: number, sequence: number): void {
    if (this.#indexes.size > 0) this.#lag.wrote(bytes, sequence)
  }

  /**
   * Called by a writer: undefined if no index is far behind. Otherwise it resolves when none is, or
   * after a while in any case, so that a broken index only slows writes down.
   */
  room(): Promise<void> | undefined {
    const servesUpTo = Math.min(
      Infinity,
      ...this.#indexes.values().map((index) => index.servesUpTo),
    )
    const sequence = this.#lag.neededFor(INDEX_LAG_BYTES_MAX, servesUpTo)
    if (sequence === undefined) return undefined
    this.#parts.events.slowedWrites += 1
    return this.#waitForRoom(sequence)
  }

  async #waitForRoom(sequence: number): Promise<void> {
    const over = new AbortController()
    const served = [...this.#indexes.values()].filter(({ servesUpTo }) => servesUpTo < sequence)
    const tooLong = this.#clock.sleep(ROOM_WAIT_MS_MAX, over.signal)
    const caughtUp = Promise.all(served.map((index) => index.waitFor(sequence, over.signal)))
    // An index that is dropped or has failed delays no caller.
    await Promise.race([Promise.allSettled([caughtUp]), Promise.allSettled([tooLong])])
    over.abort(ROOM_WAIT_OVER)
  }

  /** The indexes whose chunks full-text indexes have, too. */
  get chunked(): readonly ChunkedIndex[] {
    return this.#chunked
  }

  /** Those that are open, or are being opened. */
  get all(): Iterable<IndexVersions> {
    return this.#indexes.values()
  }

  /** The index of this name, if it is known already. */
  known(name: string): IndexVersions | undefined {
    return this.#indexes.get(name)
  }

  /** The index of this name. Throws NOT_FOUND if the shard has none. */
  async get(name: string): Promise<IndexVersions> {
    const known = this.#indexes.get(name)
    if (known !== undefined) return known
    await this.#working
    const found = this.#indexes.get(name)
    if (found !== undefined) return found
    throw new ServiceError('NOT_FOUND', `index "${name}" does not exist; create it first`)
  }

  /** The version of each index that answers searches. */
  async answeringVersions(): Promise<readonly AnsweringVersion[]> {
    if (this.#wanted.indexes.some(({ name }) => !this.#indexes.has(name))) await this.#working
    return Array.from(this.#indexes, ([index, { version }]) => ({ index, version }))
  }

  /** Resolves when all commits up to this log entry are searchable in every index. */
  async waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    await this.#working
    await Promise.all(this.#indexes.values().map((index) => index.waitFor(sequence, signal)))
  }

  /**
   * Links the files of each index that answers and is on the disk, at its last checkpoint: each index into
   * a new directory in `directory`, with the name that it has among the shard's indexes.
   */
  async linkFiles(directory: string): Promise<void> {
    await this.#working
    for (const index of this.#indexes.values()) await index.linkFiles(directory)
  }

  async close(options: { readonly flush: boolean }): Promise<void> {
    await this.#working
    await Promise.all(this.#indexes.values().map((index) => index.close(options)))
    this.#indexes.clear()
  }

  async #openAll(): Promise<void> {
    const { indexes, schema } = this.#wanted
    try {
      const found = await this.#earlierVersions(indexes, schema)
      for (const definition of indexes) {
        this.#add(definition, found.get(directoryBaseOf(definition)))
      }
    } catch (error) {
      this.#warn('indexes not found', error)
      for (const definition of indexes) this.#add(definition, undefined)
    }
    await this.#reconcile()
  }

  /**
   * Removes the directories that no index needs. Returns the version of an earlier schema that each
   * index has on the disk, by the base of its directories.
   */
  async #earlierVersions(
    wanted: readonly IndexDefinition[],
    schema: TableSchema | undefined,
  ): Promise<ReadonlyMap<string, number>> {
    const durable = new Set(wanted.filter(({ memOnly }) => !memOnly).map(directoryBaseOf))
    const earlier = new Map<string, number>()
    const unwanted: string[] = []
    const parsed = (await directoriesIn(this.#root)).map((directory) => ({
      directory,
      ...parseIndexDirectoryName(directory),
    }))
    // The oldest of several versions was the one that answered (V2); the others were never complete.
    for (const { directory, base = '', version = 0 } of parsed.toSorted(byVersion)) {
      if (durable.has(base) && version === indexVersionOf(schema)) continue
      if (durable.has(base) && !earlier.has(base)) earlier.set(base, version)
      else unwanted.push(directory)
    }
    for (const directory of unwanted) {
      await rm(path.join(this.#root, directory), { recursive: true, force: true })
    }
    return earlier
  }

  async #reconcile(): Promise<void> {
    const { indexes, schema } = this.#wanted
    try {
      for (const [name, index] of this.#indexes) {
        const isWanted = indexes.some((wanted) => isSame(wanted, index.definition))
        if (isWanted) await index.setSchema(schema)
        else await this.#drop(name, index)
      }
    } catch (error) {
      this.#warn('index not changed', error)
    }
    for (const definition of indexes) {
      if (!this.#indexes.has(definition.name)) this.#add(definition, undefined)
    }
  }

  /** A replica may hear of an index after its first artifacts, which full-text indexes have passed by then. */
  async #catchUp(added: readonly ChunkedIndex[]): Promise<void> {
    for (const { id, name } of added) {
      const range = { ...indexedRange('artifacts', id), limit: 1 }
      const [page = []] = await Array.fromAsync(this.#shard.store.pages(range))
      if (page.length === 0) continue
      for (const index of this.#indexes.values()) {
        if (feedOf(index.definition.kind) !== 'documents') continue
        index.rebuild(`index "${name}" was here only after its first chunks`)
      }
      return
    }
  }

  async #drop(name: string, index: IndexVersions): Promise<void> {
    this.#indexes.delete(name)
    await index.destroy()
  }

  #add(definition: IndexDefinition, earlier: number | undefined): void {
    const { pool, fields, log, events } = this.#parts
    const options = {
      definition,
      chunked: () => this.#chunked,
      table: this.#wanted.tableName,
      shard: this.#shard,
      fields: fields.of(this.#wanted.tableId),
      pool,
      root: this.#root,
      clock: this.#clock,
      log,
      events,
    }
    const index = new IndexVersions(options, this.#wanted.schema, earlier)
    this.#indexes.set(definition.name, index)
  }

  #warn(message: string, error: unknown): void {
    const { tableName: table } = this.#wanted
    this.#parts.log.warn(message, { table, shardId: this.#shard.id, error: String(error) })
  }
}

/** An index that was dropped and added again, perhaps as another kind, is another index. */
function isSame(one: IndexDefinition, other: IndexDefinition): boolean {
  return one.name === other.name && one.kind === other.kind && one.id === other.id
}

async function directoriesIn(root: string): Promise<readonly string[]> {
  try {
    return await readdir(root)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function byVersion(a: { readonly version?: number }, b: { readonly version?: number }): number {
  return (a.version ?? 0) - (b.version ?? 0)
}
