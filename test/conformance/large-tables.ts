// Tables that do not fit into one commit of the coordination store, on every implementation of it.

import { expect } from 'chai'
import { ServiceError } from '../../lib/errors.ts'
import type { Commit, CommitOutcome, Coordination } from '../../node/coordination/coordination.ts'
import { Catalog } from '../../node/catalog/records/catalog.ts'
import { DRAFT_PREFIX } from '../../node/catalog/records/catalog-drafts.ts'
import { FieldCatalog } from '../../node/catalog/records/field-catalog.ts'
import { SHARD_PREFIX, type CatalogTable } from '../../node/catalog/records/table-record.ts'
import { parseShardId } from '../../node/shard/shard-id.ts'
import { errorOf } from '../support/error-of.ts'

/** A draft, three parts of shards, and the table. */
const SHARDS = 300
const COMMITS = 5
const MINUTE_MS = 60_000

/** Ends at a commit, as its process would: nothing comes after it. */
class EndingCoordination {
  readonly #store: Coordination
  #left: number
  readonly #isApplied: boolean

  constructor(store: Coordination, end: { readonly at: number; readonly isApplied: boolean }) {
    this.#store = store
    this.#left = end.at
    this.#isApplied = end.isApplied
  }

  /** A store that ends so. */
  wrapped(): Coordination {
    return new Proxy(this.#store, {
      get: (store, name: keyof Coordination) => {
        if (name === 'commit') return (commit: Commit) => this.#commit(commit)
        const member = store[name]
        return typeof member === 'function' ? member.bind(store) : member
      },
    })
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    this.#left -= 1
    if (this.#left > 0) return this.#store.commit(commit)
    if (this.#left === 0 && this.#isApplied) await this.#store.commit(commit)
    throw new ServiceError('UNAVAILABLE', 'the process has ended')
  }
}

function catalogOf(coordination: Coordination): Catalog {
  return new Catalog(coordination, new FieldCatalog(coordination))
}

export function largeTable(name: string, shards: number): CatalogTable {
  const record = {
    name,
    tableId: 'b000000000000001',
    state: 'creating',
    description: undefined,
    schema: undefined,
    ttlGeneration: 1,
    indexes: [],
    hasBuiltInIndex: true,
    replication: undefined,
  } as const
  return {
    record,
    shards: Array.from({ length: shards }, (_, at) => ({
      id: parseShardId(at.toString(16).padStart(16, '0')),
      range: { start: startOf(at), end: at === shards - 1 ? undefined : startOf(at + 1) },
    })),
  }
}

function startOf(at: number): Buffer {
  return at === 0 ? Buffer.alloc(0) : Buffer.from(String(at).padStart(6, '0'))
}

async function keysOf(store: Coordination): Promise<number> {
  const shards = await store.list(SHARD_PREFIX)
  const drafts = await store.list(DRAFT_PREFIX)
  return shards.entries.length + drafts.entries.length
}

/** `open` gives a new store without entries. */
export function describeLargeTables(name: string, open: () => Promise<Coordination>): void {
  describe(`${name}: tables beyond one commit`, () => {
    it('are created and removed whole, with 1,000 shards', async () => {
      await using store = await open()
      const catalog = catalogOf(store)
      const table = largeTable('books', 1000)

      await catalog.create(table)

      expect(await catalog.find(table.record)).to.deep.equal(table)
      expect(await errorOf(() => catalog.create(table))).to.include({ code: 'ALREADY_EXISTS' })
      expect(await keysOf(store)).to.equal(1000)
      await catalog.remove(table.record)
      expect(await catalog.list()).to.deep.equal([])
      expect(await keysOf(store)).to.equal(0)
    })

    for (const isApplied of [false, true]) {
      const when = isApplied ? 'after' : 'before'

      it(`are not seen when their creation ends ${when} any of its commits, and are cleaned up`, async () => {
        for (let at = 1; at <= COMMITS; at++) {
          await using store = await open()
          const ending = new EndingCoordination(store, { at, isApplied }).wrapped()
          const table = largeTable('books', SHARDS)
          await errorOf(() => catalogOf(ending).create(table))

          const catalog = catalogOf(store)
          const isPublished = isApplied && at === COMMITS
          expect(await catalog.list(), `commit ${at}`).to.have.length(isPublished ? 1 : 0)
          await catalog.clean(0)
          await catalog.clean(MINUTE_MS + 1)
          expect(await keysOf(store), `commit ${at}`).to.equal(isPublished ? SHARDS : 0)
          if (!isPublished) await catalog.create(table)
          expect(await catalog.list()).to.deep.equal([table])
        }
      })

      it(`are gone or whole when their removal ends ${when} any of its commits`, async () => {
        for (let at = 1; at <= COMMITS; at++) {
          await using store = await open()
          const table = largeTable('books', SHARDS)
          const catalog = catalogOf(store)
          await catalog.create(table)
          const ending = new EndingCoordination(store, { at, isApplied }).wrapped()
          await errorOf(() => catalogOf(ending).remove(table.record))

          const isWhole = !isApplied && at === 1
          expect(await catalog.list(), `commit ${at}`).to.deep.equal(isWhole ? [table] : [])
          await catalog.clean(0)
          expect(await keysOf(store), `commit ${at}`).to.equal(isWhole ? SHARDS : 0)
        }
      })
    }

    it('are refused to a creator that was taken for gone, and nothing is left', async () => {
      await using store = await open()
      const table = largeTable('books', SHARDS)
      const catalog = catalogOf(store)
      let commits = 0
      const slow = new Proxy(store, {
        get: (target, property: keyof Coordination) => {
          const member = target[property]
          if (property !== 'commit') {
            return typeof member === 'function' ? member.bind(target) : member
          }
          return async (commit: Commit) => {
            commits += 1
            if (commits === 3) await catalog.clean(Infinity)
            return target.commit(commit)
          }
        },
      })

      const error = await errorOf(() => catalogOf(slow).create(table))

      expect(error).to.include({ code: 'UNAVAILABLE' })
      expect(await keysOf(store)).to.equal(0)
    })

    it('are kept while their creator works', async () => {
      await using store = await open()
      const ending = new EndingCoordination(store, { at: 4, isApplied: false }).wrapped()
      await errorOf(() => catalogOf(ending).create(largeTable('books', SHARDS)))
      const catalog = catalogOf(store)

      await catalog.clean(0)
      await catalog.clean(MINUTE_MS - 1)

      expect(await keysOf(store)).to.be.greaterThan(100)
    })
  })
}
