import type { OpenTable } from './open-table.ts'
import { INTERNAL_PREFIX } from './table-indexes.ts'
import { unknownTable, type TableRegistry } from './table-registry.ts'

/**
 * Opens a table of that name if there is one that this node has not heard of. Undefined: this node knows every
 * table.
 */
export type LearnTable = ((name: string) => Promise<void>) | undefined

/** Tables by the names that clients use. No client knows the product's own. */
export class KnownTables {
  readonly #registry: TableRegistry
  readonly #learnTable: LearnTable

  constructor(registry: TableRegistry, learnTable: LearnTable) {
    this.#registry = registry
    this.#learnTable = learnTable
  }

  /** In order of their names. */
  all(): readonly OpenTable[] {
    return this.#registry.tables().filter(({ tableName }) => !isInternal(tableName))
  }

  find(name: string): OpenTable | undefined {
    return isInternal(name) ? undefined : this.#registry.find(name)
  }

  /** Throws NOT_FOUND when this node has not heard of the table. */
  get(name: string): OpenTable {
    const table = this.find(name)
    if (table === undefined) throw unknownTable(name)
    return table
  }

  /** Rejects with NOT_FOUND when no node has created the table. */
  async learn(name: string): Promise<OpenTable> {
    if (this.find(name) === undefined) await this.learnAll([name])
    return this.get(name)
  }

  /** Asks for those of which this node has not heard; undefined if there is none. */
  learnAll(names: readonly string[]): Promise<unknown> | undefined {
    const learnTable = this.#learnTable
    if (learnTable === undefined) return undefined
    const unknown = new Set(names.filter((name) => this.#registry.find(name) === undefined))
    return unknown.size === 0 ? undefined : Promise.all([...unknown].map(learnTable))
  }
}

function isInternal(name: string): boolean {
  return name.startsWith(INTERNAL_PREFIX)
}
