import type { EntryChange } from '../../cluster/follow-entries.ts'
import { observationOf } from '../../cluster/observed-entry.ts'
import type { CoordinationEntry } from '../../coordination/coordination.ts'
import { CLUSTER_PREFIX } from '../core/records/cluster-codec.ts'
import type { TableReplication } from '../core/view/cluster-view.ts'
import type { Observation } from '../core/view/observation.ts'

/** A table as the controller needs to know it. */
export interface ReadTable {
  readonly tableId: string
  /** Undefined: the defaults. */
  readonly replication: TableReplication | undefined
}

/** How the controller reads the catalog, whose records belong to a layer above. */
export interface CatalogKeys {
  /** A table's record lies under it and the table's name. */
  readonly tablePrefix: string
  /** A shard's record lies under it and the shard's path. */
  readonly shardPrefix: string
  /** What a table's record says. Throws for one that cannot be read. */
  readonly readTable: (entry: CoordinationEntry) => ReadTable
}

/** Entries of the coordination store as observations of the controller. */
export class ClusterFeed {
  readonly #catalog: CatalogKeys
  /** The ids of tables by their keys: a deleted record does not say its id. */
  readonly #tables = new Map<string, string>()
  readonly #tableIds = new Set<string>()
  /**
   * Shards whose table is not there yet, by its id: those of a large table come before its record, and nothing
   * may be placed that nobody may see.
   */
  readonly #heldBack = new Map<string, Map<string, Observation>>()

  constructor(catalog: CatalogKeys) {
    this.#catalog = catalog
  }

  /**
   * All that the feed is about begins with one of these. Tables come first: each one looks at all
   * known shards.
   */
  get prefixes(): readonly string[] {
    const { tablePrefix, shardPrefix } = this.#catalog
    return [tablePrefix, CLUSTER_PREFIX, shardPrefix]
  }

  /** Throws for an entry that cannot be read. Keys of other kinds say nothing. */
  read(change: EntryChange): readonly Observation[] {
    const { key, entry } = change
    const { tablePrefix, shardPrefix } = this.#catalog
    if (key.startsWith(shardPrefix)) {
      const modRevision = entry?.modRevision ?? 0
      const path = key.slice(shardPrefix.length)
      return this.#readShard({ kind: 'catalog', path, entry: { key, modRevision } }, path)
    }
    if (key.startsWith(tablePrefix)) return this.#readTable(key, entry)
    const observed = observationOf(change)
    return observed === undefined ? [] : [observed]
  }

  #readShard(observed: Observation, path: string): readonly Observation[] {
    const tableId = path.slice(0, path.indexOf('/'))
    if (this.#tableIds.has(tableId)) return [observed]
    const heldBack = this.#heldBack.get(tableId) ?? new Map<string, Observation>()
    const isGone = observed.kind === 'catalog' && observed.entry.modRevision === 0
    if (isGone) heldBack.delete(path)
    else heldBack.set(path, observed)
    if (heldBack.size === 0) this.#heldBack.delete(tableId)
    else this.#heldBack.set(tableId, heldBack)
    return isGone ? [observed] : []
  }

  /** A table of the same name may be another one than before. */
  #readTable(key: string, entry: CoordinationEntry | undefined): readonly Observation[] {
    const before = this.#tables.get(key)
    const table = entry && this.#catalog.readTable(entry)
    const observed: Observation[] = []
    if (before !== undefined && before !== table?.tableId) {
      observed.push({ kind: 'table', tableId: before, replication: undefined })
    }
    if (before !== undefined) this.#tableIds.delete(before)
    if (table === undefined) {
      this.#tables.delete(key)
      return observed
    }
    this.#tables.set(key, table.tableId)
    this.#tableIds.add(table.tableId)
    const shards = this.#heldBack.get(table.tableId)?.values() ?? []
    this.#heldBack.delete(table.tableId)
    return [...observed, { kind: 'table', ...table }, ...shards]
  }
}
