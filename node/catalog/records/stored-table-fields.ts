// A table's list of fields in the coordination store, as pages that are filled one after the other.
//
// Invariants:
//   F1  Only the last page changes, and only by what is added at its end.
//   F2  Every commit is conditional on the last page as it was read, and on there being no further
//       one: of two nodes that add at a time, one is refused, reads what the other added, and adds
//       what is still missing.

import { ServiceError } from '../../../lib/errors.ts'
import { silentLog, type Log } from '../../../lib/log.ts'
import { FieldList, nameOf, type TableField } from '../../schema/table-field.ts'
import type { TableFields } from '../../shard/following/table-fields.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import {
  decodeFieldPage,
  encodeFieldPage,
  fieldPageKey,
  fieldPagesPrefix,
} from './table-fields-codec.ts'

/** A page is written whole for each addition: the next begins when it is as long as this. */
const FIELD_PAGE_BYTES_MAX = 16 * 1024
/** The limit of names that one commit adds, in UTF-16 units. It is far below the limit of a commit. */
const ADDED_LENGTH_MAX = 64 * 1024

interface Page {
  readonly number: number
  /** 0: not there yet. */
  readonly modRevision: number
  readonly fields: readonly TableField[]
  readonly bytes: number
}

/**
 * The list of one table's fields, shared by all nodes through the coordination store. `known` is
 * empty before the first `load`.
 */
export class StoredTableFields implements TableFields {
  readonly #coordination: Coordination
  readonly #tableId: string
  readonly #log: Pick<Log, 'warn'>
  #hasTold = false
  readonly #listeners = new Set<() => void>()
  #list = new FieldList()
  #known: readonly TableField[] = []
  #last: Page = emptyPage(0)
  /** One addition at a time: proposals of many shards at once become few. */
  #adding: Promise<void> = Promise.resolve()

  constructor(coordination: Coordination, tableId: string, log: Pick<Log, 'warn'> = silentLog) {
    this.#coordination = coordination
    this.#log = log
    this.#tableId = tableId
  }

  get known(): readonly TableField[] {
    return this.#known
  }

  async load(): Promise<void> {
    const { entries } = await this.#coordination.list(fieldPagesPrefix(this.#tableId))
    const list = new FieldList()
    let last = emptyPage(0)
    for (const [number, { value, modRevision }] of entries.entries()) {
      const fields = decodeFieldPage(value)
      for (const field of fields) list.add(field)
      last = { number, modRevision, fields, bytes: value.length }
    }
    // A listing that another one has overtaken tells nothing new.
    if (list.size < this.#list.size || last.modRevision < this.#last.modRevision) return
    this.#list = list
    this.#last = last
    this.#publish()
  }

  propose(fields: readonly TableField[]): Promise<void> {
    const added = this.#adding.then(() => this.#add(fields))
    this.#adding = added.catch(() => undefined) // who proposed hears of it
    return added
  }

  onGrown(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #add(fields: readonly TableField[]): Promise<void> {
    for (;;) {
      const missing = this.#missingOf(fields)
      if (missing.length === 0 || !this.#list.hasRoom) return
      const last = this.#last
      const page = last.bytes < FIELD_PAGE_BYTES_MAX ? last : pageBehind(last)
      const isAdded = await this.#write({ ...page, fields: [...page.fields, ...missing] })
      if (isAdded) continue
      await this.load()
      // Another attempt would be refused as well: who proposed tries again later, or not at all.
      if (this.#last === last) throw wentBack(this.#tableId)
    }
  }

  /** The first fields that are missing: what one commit takes and the table has room for. */
  #missingOf(fields: readonly TableField[]): readonly TableField[] {
    const names = new Set<string>()
    const after = this.#list.copy()
    let length = 0
    return fields.filter((field) => {
      const name = nameOf(field)
      if (names.has(name) || length >= ADDED_LENGTH_MAX || !after.hasRoom) return false
      if (!after.add(field)) return false
      names.add(name)
      length += name.length
      return true
    })
  }

  /** Answers whether nobody else came first. */
  async #write(page: Page): Promise<boolean> {
    const key = fieldPageKey(this.#tableId, page.number)
    const before = fieldPageKey(this.#tableId, page.number - 1)
    const behind = fieldPageKey(this.#tableId, page.number + 1)
    const value = encodeFieldPage(page.fields)
    const outcome = await this.#coordination
      .commit({
        when: [
          { key, modRevision: page.modRevision },
          { key: behind, modRevision: 0 },
          ...(page.number === this.#last.number
            ? []
            : [{ key: before, modRevision: this.#last.modRevision }]),
        ],
        changes: [{ type: 'put', key, value }],
      })
      .catch(async (error: unknown) => {
        // It may have been written all the same: the next attempt has to know.
        await this.load().catch(() => undefined)
        throw error
      })
    if (outcome.kind === 'conflict') return false
    this.#last = { ...page, modRevision: outcome.revision, bytes: value.length }
    for (const field of page.fields) this.#list.add(field)
    this.#publish()
    return true
  }

  /** Once in the life of the process: also after a restart, because the list is kept. */
  #tellIfFull(): void {
    if (this.#list.hasRoom || this.#hasTold) return
    this.#hasTold = true
    const fields = { tableId: this.#tableId, fields: this.#list.size }
    this.#log.warn(
      'table has all the fields it may have: further ones are searched without a name alone',
      fields,
    )
  }

  #publish(): void {
    if (this.#known.length === this.#list.size) return
    this.#known = this.#list.toJSON()
    this.#tellIfFull()
    for (const listener of this.#listeners) listener()
  }
}

function wentBack(tableId: string): ServiceError {
  return new ServiceError(
    'UNAVAILABLE',
    `the list of fields of table ${tableId} is older than this node knows it: the control plane has gone back`,
  )
}

function emptyPage(number: number): Page {
  return { number, modRevision: 0, fields: [], bytes: 0 }
}

function pageBehind({ number }: Page): Page {
  return emptyPage(number + 1)
}
