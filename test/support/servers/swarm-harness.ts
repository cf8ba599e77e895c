// A whole store in this process over a disk of the test's choice: what node/main.ts builds, without
// HTTP, with the test's clock and seeded chance.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { ManualClock, type Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { Lifecycle } from '../../../lib/lifecycle.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { BOUND_AHEAD_MS, HybridClock } from '../../../node/clock/hybrid-clock.ts'
import { EmbeddedCoordination } from '../../../node/coordination/embedded-coordination.ts'
import { StoredTimestampBound } from '../../../node/coordination/stored-timestamp-bound.ts'
import type { NodeHousekeeper } from '../../../node/store/node-housekeeper.ts'
import type { OpenedStore } from '../../../node/store/open-store.ts'
import { openSwarmStore } from '../../../node/store/open-swarm-store.ts'
import type { ScanRequest } from '../../../node/reads/scan-request.ts'
import type { WriteOptions } from '../../../node/transactions/write-options.ts'
import type { TableAdmin } from '../../../node/catalog/admin/table-admin.ts'
import type { ShardedStore } from '../../../node/store/sharded-store.ts'
import { parseProjection } from '../../../node/document/projection.ts'
import type { Insert, TableWrites } from '../../../node/document/writes.ts'
import { keyspaceRange, type Keyspace } from '../../../node/shard/format/keyspace.ts'
import { FaultyDisk } from '../fakes/faulty-disk.ts'
import { openTestJournal } from '../worlds/test-journal.ts'
import type { KvEntry, KvStore, KvStoreFactory } from '../../../node/storage/kv-store.ts'

const CATALOG = 'catalog'
/** More turns of the event loop than any chain of in-process steps between two timers takes. */
const SETTLE_TURNS = 60

export interface SwarmHarnessOptions {
  readonly stores?: KvStoreFactory
  readonly clock?: Clock
  readonly seed?: number
  /** The folder of text indexes; absent: tables are not searched. */
  readonly indexRoot?: string
}

interface Life {
  readonly lifecycle: Lifecycle
  readonly store: ShardedStore
  readonly cluster: OpenedStore['cluster']
  readonly registry: OpenedStore['registry']
  readonly housekeeper: NodeHousekeeper
  readonly admin: TableAdmin
  readonly shards: OpenedStore['shards']
  readonly metrics: OpenedStore['metrics']
  readonly opened: OpenStores
}

/**
 * Contract:
 * - `start` opens the store and finishes recovery; `crash` ends it as a power failure would (a
 *   FaultyDisk only), `close` as an operator would. Each may be followed by another `start`.
 * - The same seed, clock and calls give the same transaction ids, shard ids and disk writes.
 */
export class SwarmHarness implements AsyncDisposable {
  readonly stores: KvStoreFactory
  readonly clock: Clock
  readonly #random: Random
  readonly #indexRoot: string | undefined
  #life: Life | undefined

  constructor({ stores, clock, seed = 1, indexRoot }: SwarmHarnessOptions = {}) {
    this.#indexRoot = indexRoot
    this.stores = stores ?? new FaultyDisk()
    this.clock = clock ?? new ManualClock()
    this.#random = seededRandom(seed)
  }

  static async open(options: SwarmHarnessOptions = {}): Promise<SwarmHarness> {
    const harness = new SwarmHarness(options)
    await harness.start()
    return harness
  }

  get store(): ShardedStore {
    return this.#alive().store
  }

  get cluster(): OpenedStore['cluster'] {
    return this.#alive().cluster
  }

  get housekeeper(): NodeHousekeeper {
    return this.#alive().housekeeper
  }

  get registry(): OpenedStore['registry'] {
    return this.#alive().registry
  }

  get tableAdmin(): TableAdmin {
    return this.#alive().admin
  }

  get disk(): FaultyDisk {
    if (this.stores instanceof FaultyDisk) return this.stores
    throw new TypeError('this harness does not run on a FaultyDisk')
  }

  async start(): Promise<void> {
    const lifecycle = new Lifecycle()
    const opened = new OpenStores(this.stores)
    try {
      const coordination = new EmbeddedCoordination(await this.stores.open(CATALOG), this.clock)
      lifecycle.onClose(() => coordination.close())
      const bound = new StoredTimestampBound(coordination, 'node')
      const hybridClock = await HybridClock.open(this.clock, bound)
      lifecycle.onClose(() => hybridClock.close())
      lifecycle.onClose(this.clock.every(BOUND_AHEAD_MS / 3, () => hybridClock.keepAhead()))
      const { stores } = this
      const indexRoot = this.#indexRoot
      const disk = stores instanceof FaultyDisk ? stores : new FaultyDisk()
      const journal = await openTestJournal({ disk, clock: this.clock })
      lifecycle.onClose(() => journal.close())
      const swarm = await openSwarmStore(
        {
          coordination,
          stores: opened,
          journal,
          admit: () => disk.admit(),
          hybridClock,
          clock: this.clock,
          log: silentLog,
          version: '0.0.0',
          nodeId: 'node',
          randomBits: () => this.#randomBits(),
          ...(indexRoot === undefined ? {} : { indexes: { indexRoot, threads: 1 } }),
        },
        lifecycle,
      )
      this.#life = { lifecycle, opened, ...swarm }
      await swarm.finishStart()
    } catch (error) {
      await lifecycle.close().catch(() => undefined)
      throw error
    }
  }

  /** Loses power now. Unsynced writes are lost. */
  async crash(): Promise<void> {
    this.disk.crash()
    await this.#bury()
  }

  async restart(): Promise<void> {
    this.disk.restart()
    await this.#bury()
    await this.start()
  }

  /** After the disk lost power by itself: waits for the old life's failures to be heard. */
  async #bury(): Promise<void> {
    const life = this.#life
    this.#life = undefined
    await life?.lifecycle.close().catch(() => undefined)
  }

  async close(): Promise<void> {
    const life = this.#life
    this.#life = undefined
    await life?.lifecycle.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Moves a ManualClock in steps, letting the periodic work of each step come to its end. */
  async advance(ms: number, stepMs = 1000): Promise<void> {
    const { clock } = this
    if (!(clock instanceof ManualClock)) throw new TypeError('only a ManualClock can be moved')
    for (let moved = 0; moved < ms; moved += stepMs) {
      clock.advance(Math.min(stepMs, ms - moved))
      await settle()
    }
  }

  /** What it tells Prometheus. */
  async metricLines(): Promise<readonly string[]> {
    const lines = await Promise.all(this.#alive().metrics.map(async (read) => read()))
    return lines.flat()
  }

  /** What lies in a keyspace of all shards that are open. */
  async entries(keyspace: Keyspace): Promise<readonly KvEntry[]> {
    const { shards, opened } = this.#alive()
    for (const shard of shards()) await shard.settled()
    const found: KvEntry[] = []
    for (const store of opened.stores.values()) {
      for await (const page of store.pages(keyspaceRange(keyspace))) found.push(...page)
    }
    return found
  }

  #alive(): Life {
    if (this.#life === undefined) throw new TypeError('the harness is not started')
    return this.#life
  }

  #randomBits(): string {
    const half = (): string =>
      Math.floor(this.#random() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, '0')
    return half() + half()
  }
}

/** Remembers which stores are open, so that a test can look at the disk beneath a shard. */
class OpenStores implements KvStoreFactory {
  readonly stores = new Map<string, KvStore>()
  readonly #inner: KvStoreFactory

  constructor(inner: KvStoreFactory) {
    this.#inner = inner
  }

  async open(name: string): Promise<KvStore> {
    const store = await this.#inner.open(name)
    this.stores.set(name, store)
    return store
  }

  destroy(name: string): Promise<void> {
    this.stores.delete(name)
    return this.#inner.destroy(name)
  }

  list(): Promise<readonly string[]> {
    return this.#inner.list()
  }
}

/** Lets every step that waits for no timer and no real disk come to its end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await nextTurn()
}

export const WRITE: WriteOptions = { syncLevel: 'write' }
export const PROPOSE: WriteOptions = { syncLevel: 'propose' }

export function insert(key: string, document: object): Insert {
  return { key: Buffer.from(key), json: Buffer.from(JSON.stringify(document)) }
}

/** Writes of one table; only what is given. */
export function writesOf(
  table: string,
  { inserts = [], deletes = [], transforms = [] }: Partial<Omit<TableWrites, 'table'>>,
): TableWrites {
  return { table, inserts, deletes, transforms }
}

/** The document as an object with its version, or undefined. */
export async function documentOf(
  store: ShardedStore,
  table: string,
  key: string,
): Promise<{ readonly version: bigint; readonly value: unknown } | undefined> {
  const found = await store.lookup(table, Buffer.from(key))
  if (found === undefined) return undefined
  return { version: found.version, value: JSON.parse(found.json.toString()) }
}

/** A member of a parsed document. */
export function fieldOf(document: unknown, name: string): unknown {
  return typeof document === 'object' && document !== null ? Reflect.get(document, name) : undefined
}

/** All documents of a table at one timestamp, by key. */
export async function tableContent(
  store: ShardedStore,
  table: string,
): Promise<Readonly<Record<string, unknown>>> {
  const request: ScanRequest = {
    from: undefined,
    to: undefined,
    inclusiveFrom: true,
    exclusiveTo: false,
    projection: parseProjection('*'),
    inEnvelope: false,
    filter: undefined,
    limit: undefined,
  }
  const pages = await Array.fromAsync(
    await store.scan(table, request, { signal: new AbortController().signal }),
  )
  const lines = Buffer.concat(pages).toString().split('\n').filter(Boolean)
  const rows = lines.map((line): [string, unknown] => {
    const { key, ...document } = JSON.parse(line)
    return [key, document]
  })
  return Object.fromEntries(rows)
}

/** What became of a call that may have been interrupted. */
export type Fate =
  { readonly kind: 'acknowledged' } | { readonly kind: 'refused'; readonly error: ServiceError }

export async function fateOf(call: Promise<unknown>): Promise<Fate> {
  try {
    await call
    return { kind: 'acknowledged' }
  } catch (error) {
    if (error instanceof ServiceError) return { kind: 'refused', error }
    throw error
  }
}
