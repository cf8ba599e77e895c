// A few shards with the transaction machinery on top, and nothing above it: for tests that want to
// stand between the coordinator and the shards.

import { NO_SETTINGS } from '../../../node/shard/command/table-settings.ts'
import { ManualClock, type Clock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { HybridClock, TIMESTAMP_ZERO, type Timestamp } from '../../../node/clock/hybrid-clock.ts'
import { OpenTable } from '../../../node/catalog/tables/open-table.ts'
import { TransactionFinisher } from '../../../node/transactions/transaction-finisher.ts'
import { TransactionRecovery } from '../../../node/transactions/transaction-recovery.ts'
import { TransactionRunner } from '../../../node/transactions/transaction-runner.ts'
import type { WriteOp } from '../../../node/shard/command/command.ts'
import { LocalShard } from '../../../node/shard/local-shard.ts'
import type { ShardReplica } from '../../../node/shard/shard-replica.ts'
import type { Shard } from '../../../node/shard/shard.ts'
import type { ShardRouter } from '../../../node/shard/shard-router.ts'
import { parseShardId } from '../../../node/shard/shard-id.ts'
import {
  buildTransactionId,
  type TransactionId,
} from '../../../node/shard/command/transaction-id.ts'
import { FaultyDisk } from '../fakes/faulty-disk.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import { routesTo } from './routes.ts'
import { openTestJournal } from './test-journal.ts'
import type { KvStoreFactory } from '../../../node/storage/kv-store.ts'
import type { TtlPolicy } from '../../../node/schema/document-rules.ts'

const EVERYTHING = { start: Buffer.alloc(0), end: undefined }

export const memoryBound = {
  load: async (): Promise<Timestamp> => TIMESTAMP_ZERO,
  save: async (): Promise<void> => undefined,
}

export interface ShardWorldOptions {
  readonly stores?: KvStoreFactory
  readonly clock?: Clock
  /** Puts something between the coordinator and the shard of a table. */
  readonly wrap?: (shard: LocalShard, tableId: string) => Shard
  readonly ttl?: TtlPolicy
  /** Default true. */
  readonly isOnlyProcess?: boolean
  /** Puts something between everybody and the map of shards. */
  readonly route?: (known: ShardRouter) => ShardRouter
  /** Default: a journal on the disk of the stores, if they have one. */
  readonly journal?: Journal
  /** Whether a full disk is noticed before a write, as a guard does. Default true. */
  readonly isGuarded?: boolean
}

interface WorldParts {
  readonly options: ShardWorldOptions
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly stores: KvStoreFactory
  readonly journal: Journal
}

/** One table with one shard for each given name; the name is the table's id. */
export class ShardWorld implements AsyncDisposable {
  readonly stores: KvStoreFactory
  readonly clock: Clock
  #journal: Journal
  readonly hybridClock: HybridClock
  readonly local = new Map<string, LocalShard>()
  readonly router: ShardRouter
  readonly finisher: TransactionFinisher
  readonly runner: TransactionRunner
  readonly recovery: TransactionRecovery
  readonly #options: ShardWorldOptions
  readonly #wrapped = new Map<string, Shard>()
  readonly #random = seededRandom(7)

  private constructor(parts: WorldParts) {
    const { options, clock, hybridClock } = parts
    this.#options = options
    this.stores = parts.stores
    this.#journal = parts.journal
    this.clock = clock
    this.hybridClock = hybridClock
    const known = routesTo(({ tableId }) => this.#wrapped.get(tableId))
    this.router = options.route?.(known) ?? known
    this.finisher = new TransactionFinisher({
      router: this.router,
      clock: this.clock,
      log: silentLog,
    })
    const { router, finisher } = this
    this.runner = new TransactionRunner({
      clock,
      hybridClock,
      router,
      finisher,
      randomBits: () => this.#randomBits(),
    })
    this.recovery = new TransactionRecovery({
      router,
      finisher,
      hybridClock,
      log: silentLog,
      shards: () => [...this.local.values()].map(({ led }) => led),
      isOnlyProcess: options.isOnlyProcess ?? true,
    })
  }

  static async open(
    names: readonly string[],
    options: ShardWorldOptions = {},
  ): Promise<ShardWorld> {
    const clock = options.clock ?? new ManualClock()
    const hybridClock = await HybridClock.open(clock, memoryBound)
    const stores = options.stores ?? new FaultyDisk()
    const journal = options.journal ?? (await journalOn(stores, clock))
    const world = new ShardWorld({ options, clock, hybridClock, stores, journal })
    for (const name of names) await world.openShard(name)
    return world
  }

  async openShard(name: string): Promise<LocalShard> {
    const { clock, hybridClock, router, stores } = this
    const isGuarded = this.#options.isGuarded ?? true
    const admit = isGuarded && stores instanceof FaultyDisk ? () => stores.admit() : undefined
    const shard = await LocalShard.open({
      id: parseShardId(Buffer.from(name.padEnd(8, '-').slice(0, 8)).toString('hex')),
      range: EVERYTHING,
      store: await stores.open(name),
      journal: this.#journal,
      admit,
      hybridClock,
      clock,
      router,
      settings: { ...NO_SETTINGS, tableId: name, tableName: name, ttl: this.#options.ttl },
    })
    this.local.set(name, shard)
    this.#wrapped.set(name, this.#options.wrap?.(shard, name) ?? shard)
    return shard
  }

  get disk(): FaultyDisk {
    if (this.stores instanceof FaultyDisk) return this.stores
    throw new TypeError('this world does not run on a FaultyDisk')
  }

  shard(name: string): LocalShard {
    const shard = this.local.get(name)
    if (shard === undefined) throw new RangeError(`no shard "${name}"`)
    return shard
  }

  /** The table as the coordinator sees it. */
  table(name: string): OpenTable {
    const shard = this.#wrapped.get(name) ?? this.shard(name)
    const record = {
      name,
      tableId: name,
      state: 'ready' as const,
      description: undefined,
      schema: undefined,
      ttlGeneration: 1,
      indexes: [],
      hasBuiltInIndex: true,
      replication: undefined,
      shards: [{ id: shard.id, range: shard.range }],
    }
    return new OpenTable(record, [shard])
  }

  newTransactionId(): TransactionId {
    return buildTransactionId(this.hybridClock.now(), this.#randomBits())
  }

  /** Loses power and opens the same shards again over what was durable; nothing is recovered yet. */
  async restart(): Promise<void> {
    this.disk.restart()
    const names = [...this.local.keys()]
    for (const shard of this.local.values()) await shard.close().catch(() => undefined)
    this.#journal = await journalOn(this.stores, this.clock)
    for (const name of names) await this.openShard(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const shard of this.local.values()) await shard.close()
    await this.#journal.close()
  }

  #randomBits(): string {
    return Array.from({ length: 16 }, () => Math.floor(this.#random() * 16).toString(16)).join('')
  }
}

/** On the disk of the stores, if they have one. */
function journalOn(stores: KvStoreFactory, clock: Clock): Promise<Journal> {
  return openTestJournal(stores instanceof FaultyDisk ? { disk: stores, clock } : { clock })
}

/** The shard, with some of its methods replaced. */
export function withMethods(shard: LocalShard, methods: Partial<Shard>): Shard & ShardReplica {
  return new Proxy(shard, {
    get(target, name) {
      const replaced: unknown = Reflect.get(methods, name)
      if (replaced !== undefined) return replaced
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

export function putOp(key: string, value: unknown): WriteOp {
  const json = Buffer.from(JSON.stringify({ value }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}

export function deleteOp(key: string): WriteOp {
  return { kind: 'delete', key: Buffer.from(key) }
}
