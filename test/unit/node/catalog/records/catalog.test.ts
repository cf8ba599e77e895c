import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { Catalog } from '../../../../../node/catalog/records/catalog.ts'
import { FieldCatalog } from '../../../../../node/catalog/records/field-catalog.ts'
import type { CatalogTable } from '../../../../../node/catalog/records/table-record.ts'
import { parseShardId } from '../../../../../node/shard/shard-id.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { describeLargeTables } from '../../../../conformance/large-tables.ts'

function tableOf(name: string, tableId: string): CatalogTable {
  const record = {
    name,
    tableId,
    state: 'ready',
    description: undefined,
    schema: undefined,
    ttlGeneration: 1,
    indexes: [],
    hasBuiltInIndex: true,
    replication: undefined,
  } as const
  const middle = Buffer.from('m')
  // The later shard has the smaller id, and so comes first in the listing.
  const shards = [
    { id: parseShardId('00000000000000f1'), range: { start: Buffer.alloc(0), end: middle } },
    { id: parseShardId('00000000000000a2'), range: { start: middle, end: undefined } },
  ]
  return { record, shards }
}

const BOOKS = tableOf('books', 'b000000000000001')
const OTHERS = tableOf('others', 'b000000000000002')

function openCatalog() {
  const coordination = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
  return { coordination, catalog: new Catalog(coordination, new FieldCatalog(coordination)) }
}

describeLargeTables('EmbeddedCoordination', async () => openCatalog().coordination)

describe('the catalog', () => {
  it('lists tables with their shards in key order', async () => {
    const { catalog } = openCatalog()
    await catalog.create(BOOKS)
    await catalog.create(OTHERS)

    expect(await catalog.list()).to.deep.equal([BOOKS, OTHERS])
    expect(await catalog.find(BOOKS.record)).to.deep.equal(BOOKS)
  })

  it('writes a table with its shards in one commit, and removes both in one', async () => {
    const { catalog, coordination } = openCatalog()
    await catalog.create(BOOKS)
    const made = await coordination.list('/')
    const revisions = new Set(made.entries.map(({ modRevision }) => modRevision))
    await catalog.remove(BOOKS.record)

    const gone = await coordination.list('/')

    expect([...revisions]).to.deep.equal([made.revision])
    expect(gone.entries).to.deep.equal([])
    expect(gone.revision).to.equal(made.revision + 1)
  })

  it('decides by its shards whether a table exists', async () => {
    const { catalog } = openCatalog()
    await catalog.create(BOOKS)
    const before = await catalog.exists(BOOKS.record.tableId)
    await catalog.remove(BOOKS.record)

    expect(before).to.equal(true)
    expect(await catalog.exists(BOOKS.record.tableId)).to.equal(false)
    expect(await catalog.exists(OTHERS.record.tableId)).to.equal(false)
  })

  it('does not change the shards when the record changes', async () => {
    const { catalog } = openCatalog()
    await catalog.create(BOOKS)

    await catalog.update(BOOKS.record, (record) => ({ ...record, description: 'changed' }))

    const found = await catalog.find(BOOKS.record)
    expect(found?.record.description).to.equal('changed')
    expect(found?.shards).to.deep.equal(BOOKS.shards)
  })

  it('converts records that contain the shards in one commit, once', async () => {
    const { catalog, coordination } = openCatalog()
    const { record, shards } = BOOKS
    const stored = {
      format: 1,
      name: record.name,
      tableId: record.tableId,
      state: record.state,
      ttlGeneration: record.ttlGeneration,
      shards: shards.map(({ id, range: { start, end } }) => ({
        id,
        start: start.toString('base64'),
        end: end?.toString('base64') ?? null,
      })),
    }
    const value = Buffer.from(JSON.stringify(stored))
    await coordination.commit({ when: [], changes: [{ type: 'put', key: '/tables/books', value }] })

    await catalog.convert()
    const { revision } = await coordination.list('/')
    await catalog.convert()

    expect(await catalog.list()).to.deep.equal([BOOKS])
    expect((await coordination.list('/')).revision).to.equal(revision)
    expect(revision).to.equal(2)
  })
})
