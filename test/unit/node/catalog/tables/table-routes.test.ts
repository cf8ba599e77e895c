import { expect } from 'chai'
import { TableRegistry } from '../../../../../node/catalog/tables/table-registry.ts'
import { TableRoutes } from '../../../../../node/catalog/tables/table-routes.ts'
import { ShardWorld } from '../../../../support/worlds/shard-world.ts'

const address = { tableId: 'a', key: Buffer.from('k') }

describe('the routes of a node', () => {
  it('lead to the shards of an open table without asking the catalog', async () => {
    await using world = await ShardWorld.open(['a'])
    const registry = new TableRegistry()
    registry.set(world.table('a'))
    const routes = new TableRoutes({ registry, catalog: { exists: async () => false } })

    expect(await routes.shardAt(address)).to.deep.equal({ kind: 'shard', shard: world.shard('a') })
  })

  it('are gone only when the catalog says that the table was dropped', async () => {
    const catalog = { exists: async () => false }
    const routes = new TableRoutes({ registry: new TableRegistry(), catalog })

    expect(await routes.shardAt(address)).to.deep.equal({ kind: 'gone' })
  })

  it('are unknown for a table that exists and is not open here', async () => {
    const catalog = { exists: async () => true }
    const routes = new TableRoutes({ registry: new TableRegistry(), catalog })

    expect(await routes.shardAt(address)).to.include({ kind: 'unknown' })
  })

  it('are unknown while the catalog does not answer', async () => {
    const catalog = { exists: () => Promise.reject(new RangeError('away')) }
    const routes = new TableRoutes({ registry: new TableRegistry(), catalog })

    const route = await routes.shardAt(address)

    expect(route.kind === 'unknown' && route.reason).to.match(/away/)
  })
})
