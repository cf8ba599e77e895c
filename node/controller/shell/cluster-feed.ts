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
      return [{ kind: 'catalog', path, entry: { key, modRevision } }]
    }
    if (key.startsWith(tablePrefix)) return this.#readTable(key, entry)
    const observed = observationOf(change)
    return observed === undefined ? [] : [observed]
  }

  /** A table of the same name may be another one than before. */
  #readTable(key: string, entry: CoordinationEntry | undefined): readonly Observation[] {
    const before = this.#tables.get(key)
    const table = entry && this.#catalog.readTable(entry)
    const observed: Observation[] = []
    if (before !== undefined && before !== table?.tableId) {
      observed.push({ kind: 'table', tableId: before, replication: undefined })
    }
    if (table === undefined) this.#tables.delete(key)
    else {
      this.#tables.set(key, table.tableId)
      observed.push({ kind: 'table', ...table })
    }
    return observed
  }
}
