// The tables of a cluster as one node serves them: it follows the catalog, opens tables for its clients, and
// starts and removes replicas as the controller places them.
//
// Invariants:
//   CTA1  A table of the registry is the newest that was seen, with all of its shards; one that the catalog has
//         lost goes.
//   CTA2  A replica is started only for a shard of the catalog whose configuration names this node, and removed
//         when the configuration names it no more, or the table is gone. What a start finds of unknown shards goes by
//         tombstones alone (dropped-replicas.ts).
//   CTA3  Work on one shard follows earlier work on it.

import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { SharedAsks } from '../../../lib/shared-asks.ts'
import { runInTurn, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { ClusterMap } from '../../cluster/cluster-map.ts'
import { followEntries, type EntryChange } from '../../cluster/follow-entries.ts'
import type { Coordination, CoordinationEntry } from '../../coordination/coordination.ts'
import type { ReplicaId, ShardConfiguration } from '../../replication/core/configuration.ts'
import type { LedShard } from '../../shard/led-shard.ts'
import type { Shard } from '../../shard/shard.ts'
import { parseShardId, type ShardId } from '../../shard/shard-id.ts'
import { OpenTable } from '../../catalog/tables/open-table.ts'
import {
  decodeShard,
  decodeTable,
  SHARD_PREFIX,
  shardPrefix,
  TABLE_PREFIX,
  tableIdOfShardKey,
  tableKey,
  type TableRecord,
} from '../../catalog/records/table-record.ts'
import type { TableRegistry } from '../../catalog/tables/table-registry.ts'
import type { LedShards } from '../../catalog/tables/led-shards.ts'
import type { ShardRecord } from '../../catalog/records/shard-record.ts'
import { endedKey } from './ended-shards.ts'
import type { ReplicaHost } from '../replica-host.ts'

/** How often shards of dropped tables are asked whether they have ended. */
const ENDS_MS = 250
/** How soon a replica that could not be opened is tried again. */
const REOPEN_MS = 2000
/** How long a close waits for shards that are stopping. */
const CLOSE_MS_MAX = 2000
/** To open a table costs some 2 us for each of its shards. */
const SHARDS_PER_STEP = 512

/** What the tables of a node are made of. */
export interface ClusterTablesOptions {
  readonly self: ReplicaId
  readonly coordination: Coordination
  readonly map: ClusterMap
  readonly host: ReplicaHost
  readonly registry: TableRegistry
  readonly led: LedShards
  readonly shardOf: (record: ShardRecord) => Shard
  /** Ends every transaction whose record lies on a sealed shard. */
  readonly drain: (shard: LedShard) => Promise<void>
  readonly onNotOpened: (id: ShardId, error: unknown) => void
  /** A replica here that the cluster wants and that cannot be trusted. */
  readonly rebuild: (record: ShardRecord, settings: OpenTable) => void
  readonly clock: Clock
  readonly log: Log
}

interface SeenTable {
  readonly record: TableRecord
  readonly modRevision: number
}

interface SeenShard {
  readonly tableId: string
  readonly record: ShardRecord
}

/**
 * Follows the catalog from `start` to `close`.
 *
 * - `start` resolves when the tables of the catalog are open, and rejects with the reason of its signal. It is called
 *   once, and `close` has to follow it whatever its outcome was.
 * - Before that no table is open: `apply` changes nothing, and `reach` waits for the start.
 */
export class ClusterTables {
  readonly #with: ClusterTablesOptions
  readonly #closing = new AbortController()
  readonly #listed = Promise.withResolvers<void>()
  readonly #tables = new Map<string, SeenTable>()
  /** The revision of each open table's record, by the table's id: comparing records costs their length. */
  readonly #openedAt = new Map<string, number>()
  readonly #byId = new Map<string, SeenTable>()
  readonly #shards = new Map<ShardId, SeenShard>()
  readonly #shardsOf = new Map<string, Map<ShardId, ShardRecord>>()
  /** The ids of tables of which something has changed. */
  readonly #dirty = new Set<string>()
  /** What the watch of tables has brought. */
  #tablesRevision = 0
  readonly #asks = new SharedAsks((name) => this.#learn(name))
  /** The last work on each shard. */
  readonly #working = new Map<ShardId, Promise<void>>()
  readonly #stops: (() => void | Promise<void>)[] = []
  #following: Promise<void> = Promise.resolve()
  #isSettling = false
  /** Called when what was taken from the catalog is opened. */
  readonly #waiting = new Set<() => void>()
  /** Shards that this node has ended and said so. */
  readonly #ended = new Set<ShardId>()

  constructor(options: ClusterTablesOptions) {
    this.#with = options
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#follow()
    const onAbort = (): void => this.#listed.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await this.#listed.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Gives the replicas here the settings of a changed table. */
  async apply(table: OpenTable): Promise<void> {
    const { host } = this.#with
    const local = table.shards.flatMap(({ id }) => host.find(id) ?? [])
    await Promise.all(local.map((shard) => shard.led.setSettings(table)))
  }

  /**
   * Resolves when this node serves the table of this name as the catalog has it at the call, replicas here included,
   * or knows that the catalog has none. Rejects with the reason of `signal`.
   */
  async reach(name: string, signal: AbortSignal): Promise<void> {
    const key = tableKey(name)
    const wanted = await this.#with.coordination.get(key)
    const either = AbortSignal.any([signal, this.#closing.signal])
    while (this.#dirty.size > 0 || !this.#hasReached(key, wanted)) {
      either.throwIfAborted()
      await this.#settled(either)
    }
    const table = this.#with.registry.find(name)
    if (table !== undefined) await this.apply(table)
  }

  #hasReached(key: string, wanted: CoordinationEntry | undefined): boolean {
    const seen = this.#tables.get(key)
    if (wanted === undefined) return seen === undefined
    if (seen === undefined || seen.modRevision < wanted.modRevision) return false
    return this.#openedAt.get(seen.record.tableId) === seen.modRevision
  }

  /** The end of the next look at the catalog. */
  async #settled(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting.add(resolve)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#waiting.delete(resolve)
    }
  }

  /** Whether the catalog has the shard. */
  isKnown(id: ShardId): boolean {
    return this.#shards.has(id)
  }

  /** Removes what the disk has of a shard, unless the catalog has it. Rejects if something may be left. */
  async collect(id: ShardId): Promise<void> {
    await this.#inTurn(id, async () => {
      if (!this.isKnown(id)) await this.#with.host.remove(id)
    })
  }

  /**
   * A shard of a dropped table that waits for followers which are gone is waited for CLOSE_MS_MAX; its wait ends when the
   * shard is closed.
   */
  async close(): Promise<void> {
    this.#closing.abort()
    const stopped = Promise.all(this.#stops.splice(0).map(async (stop) => stop()))
    await answerWithin(stopped, { clock: this.#with.clock, ms: CLOSE_MS_MAX })
    await this.#following
    await Promise.all(this.#working.values())
  }

  #follow(): void {
    const { coordination, clock, map } = this.#with
    this.#listed.promise.catch(() => undefined) // `start` hears of it
    const sink = {
      changed: (change: EntryChange) => this.#take(change),
      listed: () => this.#onListed(),
      failed: (error: unknown) => this.#complain('the catalog does not answer', error),
    }
    const prefixes = [TABLE_PREFIX, SHARD_PREFIX]
    this.#following = followEntries({ coordination, prefixes, clock, sink }, this.#closing.signal)
    const onChange = map.onChange((change) => {
      if (change.kind === 'configuration') this.#place(parseShardId(shardIdOf(change.path)))
    })
    this.#stops.push(
      onChange,
      clock.every(ENDS_MS, () => this.#endDropped()),
    )
  }

  #take({ key, entry, revision }: EntryChange): void {
    try {
      if (key.startsWith(SHARD_PREFIX)) this.#takeShard(key, entry)
      else this.#takeSeenTable(key, { entry, revision })
    } catch (error) {
      this.#complain(`the entry ${key} of the catalog is damaged`, error)
    }
    this.#settleSoon()
  }

  /** What is older than a table that was learned ahead of the watch says nothing. */
  #takeSeenTable(key: string, { entry, revision }: Pick<EntryChange, 'entry' | 'revision'>): void {
    this.#tablesRevision = Math.max(this.#tablesRevision, revision)
    if (revision < (this.#tables.get(key)?.modRevision ?? 0)) return
    this.#takeTable(key, entry)
  }

  #takeTable(key: string, entry: CoordinationEntry | undefined): void {
    const before = this.#tables.get(key)
    if (before !== undefined) this.#forget(key, before)
    if (entry === undefined) return
    const { value, modRevision } = entry
    const table = { record: decodeTable(value), modRevision }
    this.#tables.set(key, table)
    this.#byId.set(table.record.tableId, table)
    this.#dirty.add(table.record.tableId)
  }

  #forget(key: string, { record }: SeenTable): void {
    this.#tables.delete(key)
    this.#byId.delete(record.tableId)
    this.#dirty.add(record.tableId)
  }

  #takeShard(key: string, entry: CoordinationEntry | undefined): void {
    const id = parseShardId(shardIdOf(key))
    const tableId = tableIdOfShardKey(key)
    const ofTable = this.#shardsOf.get(tableId) ?? new Map<ShardId, ShardRecord>()
    if (entry === undefined) {
      this.#shards.delete(id)
      ofTable.delete(id)
    } else {
      const record = decodeShard(entry.value)
      this.#shards.set(id, { tableId, record })
      ofTable.set(id, record)
    }
    if (ofTable.size === 0) this.#shardsOf.delete(tableId)
    else this.#shardsOf.set(tableId, ofTable)
    this.#dirty.add(tableId)
  }

  /**
   * Opens the table of that name if the catalog has it, although the watch may not have brought it. Rejects
   * with UNAVAILABLE if the catalog does not answer.
   */
  learn(name: string): Promise<void> {
    return this.#asks.ask(name)
  }

  async #learn(name: string): Promise<void> {
    const { coordination } = this.#with
    const key = tableKey(name)
    const tables = await coordination.list(key)
    const entry = tables.entries.find((one) => one.key === key)
    // The watch is beyond the listing: it has told all of the listing, and perhaps that the table was dropped.
    if (entry === undefined || this.#tablesRevision > tables.revision) return
    const { tableId } = decodeTable(entry.value)
    const shards = await coordination.list(shardPrefix(tableId))
    if (this.#closing.signal.aborted || this.#tablesRevision > tables.revision) return
    for (const shard of shards.entries) this.#takeShard(shard.key, shard)
    this.#takeTable(key, entry)
    this.#settleOne(tableId)
  }

  #onListed(): void {
    void this.#settle().then(() => this.#listed.resolve())
  }

  /** Entries of one commit come one after the other. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    queueMicrotask(() => {
      this.#isSettling = false
      void this.#settle()
    })
  }

  /** In steps, because a listing has thousands of tables and shards. */
  async #settle(): Promise<void> {
    const { clock } = this.#with
    const { signal } = this.#closing
    await runInTurn(this.#settleAll(), { clock, signal })?.catch(() => undefined) // closed
  }

  *#settleAll(): Sliced<void> {
    const meter = new StepMeter(SHARDS_PER_STEP)
    for (const tableId of this.#dirty) {
      this.#settleOne(tableId)
      if (meter.spend(1 + (this.#shardsOf.get(tableId)?.size ?? 0))) yield
    }
    for (const resolve of this.#waiting) resolve()
  }

  /** CTA1. */
  #settleOne(tableId: string): void {
    this.#dirty.delete(tableId)
    const table = this.#byId.get(tableId)
    const found = this.#shardsOf.get(tableId)
    const known = this.#with.registry.openTable(tableId)
    const isSame = known?.shards.length === found?.size
    if (isSame && table?.modRevision === this.#openedAt.get(tableId)) return
    const shards = [...(found?.values() ?? [])].toSorted((a, b) =>
      a.range.start.compare(b.range.start),
    )
    // The rest of the commit that creates a table may be still to come.
    if (table !== undefined && isWhole(shards)) this.#open(table, shards)
    else if (known !== undefined) this.#close(known)
  }

  #open({ record, modRevision }: SeenTable, shards: readonly ShardRecord[]): void {
    const { registry, shardOf } = this.#with
    const known = registry.openTable(record.tableId)
    this.#openedAt.set(record.tableId, modRevision)
    const table = new OpenTable(record, known?.shards ?? shards.map(shardOf))
    registry.set(table)
    void this.apply(table).catch((error: unknown) => this.#complain('settings not applied', error))
    for (const { id } of shards) this.#place(id)
  }

  #close(table: OpenTable): void {
    this.#with.registry.remove(table.record)
    this.#openedAt.delete(table.tableId)
    for (const { id } of table.shards) {
      this.#ended.delete(id)
      this.#place(id)
    }
  }

  /** CTA2. */
  #place(id: ShardId): void {
    void this.#inTurn(id, () => this.#placeNow(id)).catch((error: unknown) => {
      this.#complain(`the replica of shard ${id} cannot be placed`, error)
    })
  }

  /** CTA3. */
  #inTurn(id: ShardId, task: () => Promise<void>): Promise<void> {
    const work = (this.#working.get(id) ?? Promise.resolve()).then(task)
    const settled = work.catch(() => undefined) // the caller hears of it
    this.#working.set(id, settled)
    void settled.then(() => {
      if (this.#working.get(id) === settled) this.#working.delete(id)
    })
    return work
  }

  async #placeNow(id: ShardId): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { host, map, self, registry } = this.#with
    const seen = this.#shards.get(id)
    const table = seen && registry.openTable(seen.tableId)
    const path = map.pathOf(id)
    const configuration = path === undefined ? undefined : map.configurationOf(path)
    const isNamed = configuration?.replicas.includes(self.node)
    if (seen !== undefined && table !== undefined && isNamed === true) {
      await this.#startHere(seen.record, table, configuration)
    } else if (isNamed === false) {
      if (host.has(id)) await host.remove(id) // other nodes hold the shard
    } else if (seen === undefined) {
      if (host.find(id) !== undefined) await host.remove(id)
    }
  }

  async #startHere(
    record: ShardRecord,
    table: OpenTable,
    configuration: ShardConfiguration | undefined,
  ): Promise<void> {
    const { host, self, rebuild, onNotOpened } = this.#with
    const { id } = record
    if (host.damaged.has(id)) return rebuild(record, table)
    if (!host.has(id) && isMissed(configuration, self)) onNotOpened(id, lostStore(id))
    try {
      await host.start(record, table)
    } catch (error) {
      onNotOpened(id, error)
      if (host.damaged.has(id)) rebuild(record, table)
      else void this.#placeLater(id)
    }
  }

  /** Such as a full disk kept the replica from being opened: nothing else may ask for it again. */
  async #placeLater(id: ShardId): Promise<void> {
    try {
      await this.#with.clock.sleep(REOPEN_MS, this.#closing.signal)
    } catch {
      return // closed
    }
    this.#place(id)
  }

  /** The leaders of a dropped table's shards end their transactions, and say so. */
  async #endDropped(): Promise<void> {
    const { registry, led } = this.#with
    for (const table of registry.all()) {
      if (table.record.state !== 'dropping') continue
      for (const shard of led.among(table.shards)) {
        if (!this.#ended.has(shard.id)) await this.#end(table, shard)
      }
    }
  }

  async #end({ tableId }: OpenTable, shard: LedShard): Promise<void> {
    const { coordination, drain } = this.#with
    try {
      await shard.seal()
      await drain(shard)
      const key = endedKey(tableId, shard.id)
      await coordination.commit({
        when: [],
        changes: [{ type: 'put', key, value: Buffer.from('{}') }],
      })
      this.#ended.add(shard.id)
    } catch (error) {
      this.#complain(`the transactions of shard ${shard.id} cannot be ended`, error)
    }
  }

  #complain(what: string, error: unknown): void {
    if (this.#closing.signal.aborted) return
    this.#with.log.warn(what, { error: messageOf(error) })
  }
}

/** Whether an earlier life of this node may have acknowledged something of the shard. */
function isMissed(configuration: ShardConfiguration | undefined, self: ReplicaId): boolean {
  const { inSync = [], eligible = [] } = configuration ?? {}
  return [...inSync, ...eligible].some(
    ({ node, incarnation }) => node === self.node && incarnation < self.incarnation,
  )
}

function lostStore(id: ShardId): ServiceError {
  return new ServiceError('CORRUPTION', `the store of shard ${id} is missing on disk`)
}

/** Whether the shards cover every key: entries of one commit come by several watches. */
function isWhole(shards: readonly ShardRecord[]): boolean {
  let end: Buffer | undefined = Buffer.alloc(0)
  for (const { range } of shards) {
    if (end === undefined || range.start.compare(end) !== 0) return false
    end = range.end
  }
  return shards.length > 0 && end === undefined
}

function shardIdOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
