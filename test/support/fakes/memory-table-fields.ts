// A table's list of fields in memory, without a store.

import { ServiceError } from '../../../lib/errors.ts'
import { FieldList, type TableField } from '../../../node/schema/table-field.ts'
import type { TableFields } from '../../../node/shard/following/table-fields.ts'

export class MemoryTableFields implements TableFields {
  /** Set it, and nothing can be added. */
  isOutOfReach = false
  /** A caller that loads the list waits for this promise. */
  loading: Promise<void> = Promise.resolve()
  readonly #list = new FieldList()
  readonly #listeners = new Set<() => void>()

  get known(): readonly TableField[] {
    return this.#list.toJSON()
  }

  /** There is nothing that others could have added. */
  load(): Promise<void> {
    return this.loading
  }

  async propose(fields: readonly TableField[]): Promise<void> {
    if (this.isOutOfReach) throw new ServiceError('UNAVAILABLE', 'the list is out of reach')
    const before = this.#list.size
    for (const field of fields) if (this.#list.hasRoom) this.#list.add(field)
    if (this.#list.size > before) for (const listener of this.#listeners) listener()
  }

  onGrown(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
