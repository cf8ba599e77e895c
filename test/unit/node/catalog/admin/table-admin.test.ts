import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { errorOf } from '../../../../support/error-of.ts'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { FailedShard } from '../../../../../node/replicas/tables/failed-shard.ts'
import { Catalog } from '../../../../../node/catalog/records/catalog.ts'
import { FieldCatalog } from '../../../../../node/catalog/records/field-catalog.ts'
import { ModelKeys } from '../../../../../node/catalog/tables/model-keys.ts'
import { TableAdmin } from '../../../../../node/catalog/admin/table-admin.ts'
import { TableRegistry } from '../../../../../node/catalog/tables/table-registry.ts'
import { CLUSTER_REPLICATION } from '../../../../../node/catalog/admin/table-replication.ts'
import { NotServed, type TableShards } from '../../../../../node/catalog/tables/table-shards.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'

/** One node's administration of tables, over a catalog that it shares with others. */
function openNode(coordination: EmbeddedCoordination, isServed = true) {
  const registry = new TableRegistry()
  const calls = {
    announced: [] as string[],
    creates: [] as (() => void)[],
    fails: [] as (() => void)[],
  }
  const host: TableShards = {
    create: async ({ id, range }) => {
      if (!isServed) throw new NotServed('no node answers')
      await new Promise<void>((resolve, reject) => {
        calls.creates.push(resolve)
        calls.fails.push(() => reject(new NotServed('no node answers')))
      })
      return new FailedShard(id, range, 'it has no store in this test')
    },
    open: async ({ id, range }) => new FailedShard(id, range, 'it has no store in this test'),
    startTogether: async () => ({ [Symbol.dispose]: () => undefined }),
    apply: async () => undefined,
    announce: async (name) => void calls.announced.push(name),
    assertDroppable: () => undefined,
    end: async () => undefined,
    destroy: async () => undefined,
    close: async () => undefined,
    closeAll: async () => undefined,
  }
  let ids = 0
  const admin = new TableAdmin({
    clock: new ManualClock(),
    catalog: new Catalog(coordination, new FieldCatalog(coordination)),
    registry,
    host,
    log: silentLog,
    randomBits: () => String(++ids).padStart(16, '0'),
    replication: CLUSTER_REPLICATION,
    completeIndex: async (index) => index,
    keys: new ModelKeys(undefined),
  })
  /** Lets shards that are being created serve, and those that come meanwhile. */
  const serve = async (work: Promise<unknown>): Promise<void> => {
    const over = work.then(() => true)
    while (!(await Promise.race([over, nextTurn(false)]))) {
      for (const resolve of calls.creates.splice(0)) resolve()
    }
  }
  return { admin, registry, calls, serve }
}

async function whenCreating(calls: { readonly creates: readonly unknown[] }): Promise<void> {
  while (calls.creates.length === 0) await nextTurn()
}

describe('TableAdmin of a node', () => {
  it('drops a table that this node completes for another one, after it is complete', async () => {
    await using coordination = new EmbeddedCoordination(new MemoryKvStore(), new ManualClock())
    const creator = openNode(coordination)
    const repairer = openNode(coordination)
    const creation = creator.admin.create('books', {})
    await whenCreating(creator.calls)
    const repair = repairer.admin.repair()
    await whenCreating(repairer.calls)
    await creator.serve(creation)
    repairer.registry.set(await creation)

    const drop = repairer.admin.drop('books')
    await repairer.serve(repair)
    await drop

    expect(repairer.registry.find('books')).to.equal(undefined)
    expect((await coordination.list('/tables/')).entries).to.deep.equal([])
  })

  it('undoes a table that nobody serves, and takes its name again', async () => {
    await using coordination = new EmbeddedCoordination(new MemoryKvStore(), new ManualClock())
    const { admin } = openNode(coordination, false)

    const error = await errorOf(() => admin.create('books', { num_shards: 8 }))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(error)
      .to.have.property('message')
      .that.matches(/no node answers.*the table was not created$/)
    expect((await coordination.list('/tables/')).entries).to.deep.equal([])
    const node = openNode(coordination)
    const creation = node.admin.create('books', {})
    await node.serve(creation)
    expect((await creation).record.state).to.equal('ready')
  })

  it('keeps a table that another node has completed meanwhile', async () => {
    await using coordination = new EmbeddedCoordination(new MemoryKvStore(), new ManualClock())
    const late = openNode(coordination)
    const creation = late.admin.create('books', {})
    await whenCreating(late.calls)
    const other = openNode(coordination)
    const repair = other.admin.repair()
    await other.serve(repair)

    for (const fail of late.calls.fails.splice(0)) fail()

    expect(await errorOf(() => creation)).to.include({ code: 'UNAVAILABLE' })
    const { entries } = await coordination.list('/tables/')
    expect(entries.map(({ value }) => JSON.parse(value.toString()).state)).to.deep.equal(['ready'])
  })

  it('announces a change when the catalog has it', async () => {
    await using coordination = new EmbeddedCoordination(new MemoryKvStore(), new ManualClock())
    const { admin, calls, serve } = openNode(coordination)

    await serve(admin.create('books', {}))
    await admin.createIndex('books', 'notes', { type: 'full_text' })
    await admin.dropIndex('books', 'notes')
    await admin.updateSchema('books', {})
    await admin.drop('books')

    expect(calls.announced).to.deep.equal(Array.from({ length: 5 }, () => 'books'))
  })
})
