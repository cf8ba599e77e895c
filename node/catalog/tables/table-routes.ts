import { messageOf } from '../../../lib/errors.ts'
import type { KeyInterval, ShardAddress } from '../../shard/command/command.ts'
import type { NoRoute, Route, Routes, ShardRouter } from '../../shard/shard-router.ts'
import type { Catalog } from '../records/catalog.ts'
import type { TableRegistry } from './table-registry.ts'

/** The tables that this node has open, and the catalog, which decides what exists. */
export interface TableRoutesOptions {
  /** The open tables of this node; they may lag behind the catalog. */
  readonly registry: Pick<TableRegistry, 'openTable'>
  /** Decides whether a table exists. */
  readonly catalog: Pick<Catalog, 'exists'>
}

/** Routes by the tables that this node has open, and asks the catalog whether any other table exists. */
export class TableRoutes implements ShardRouter {
  readonly #with: TableRoutesOptions

  constructor(options: TableRoutesOptions) {
    this.#with = options
  }

  async shardAt({ tableId, key }: ShardAddress): Promise<Route> {
    const table = this.#with.registry.openTable(tableId)
    if (table !== undefined) return { kind: 'shard', shard: table.shardOf(key) }
    return this.#whyNone(tableId)
  }

  async shardsMeeting(interval: KeyInterval): Promise<Routes> {
    const table = this.#with.registry.openTable(interval.tableId)
    if (table !== undefined) return { kind: 'shards', shards: table.shardsMeeting(interval) }
    return this.#whyNone(interval.tableId)
  }

  async #whyNone(tableId: string): Promise<NoRoute> {
    try {
      if (!(await this.#with.catalog.exists(tableId))) return { kind: 'gone' }
    } catch (error) {
      return { kind: 'unknown', reason: `the catalog does not answer: ${messageOf(error)}` }
    }
    return { kind: 'unknown', reason: 'the table is not open here' }
  }
}
