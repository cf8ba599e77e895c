import { expect } from 'chai'
import { SteeredCluster } from '../../../../support/fakes/steered-cluster.ts'

/** What the gate of the node waits for. */
async function gateOf(control: SteeredCluster, id: string): Promise<readonly string[] | undefined> {
  const { nodes } = await control.report()
  return nodes.find((node) => node.id === id)?.updateWaitsFor
}

describe('the gate of a rolling update', () => {
  let control: SteeredCluster

  beforeEach(() => {
    control = new SteeredCluster(['n1', 'n2', 'n3', 'n4'])
    control.addShard('t/a', ['n1', 'n2', 'n3'])
  })

  it('is open for every node of a cluster that lacks nothing', async () => {
    for (const id of ['n1', 'n2', 'n3', 'n4']) expect(await gateOf(control, id)).to.deep.equal([])
  })

  it('is closed by another node that is drained, and not by the node itself', async () => {
    await control.requestOfNode({ kind: 'drain', node: 'n4' })

    expect(await gateOf(control, 'n1')).to.deep.equal(['n4 is emptying'])
    expect(await gateOf(control, 'n4')).to.deep.equal([])
  })

  it('is closed by a node that is away, also for shards that others take over', async () => {
    control.leave('n2')

    expect(await gateOf(control, 'n3')).to.include('n2 is away')
    expect((await gateOf(control, 'n3'))?.join()).to.include('would take no writes without it')
    expect(await gateOf(control, 'n2')).to.not.deep.equal([])
  })

  it('is closed by a shard without replicas, a leader, or enough of them', async () => {
    const entry = { key: '/table-shards/t/b', modRevision: 1000 }
    control.core.observe({ kind: 'catalog', path: 't/b', entry }, 0)
    const unplaced = await gateOf(control, 'n1')
    control.addShard('t/c', ['n1', 'n2'])
    const few = await gateOf(control, 'n4')
    control.addShard('t/d', ['n1'])
    const below = await gateOf(control, 'n4')
    control.leave('n1')
    const leaderless = await gateOf(control, 'n4')

    expect(unplaced).to.deep.equal(['1 shard is without replicas'])
    expect(few).to.include('1 shard is with fewer replicas in sync than wanted')
    expect(below).to.include('1 shard is with too few replicas in sync for writes')
    expect(leaderless?.join()).to.include('without a leader')
  })

  it('is not closed by a node that is out of the cluster', async () => {
    await control.requestOfNode({ kind: 'decommission', node: 'n4' })
    const emptying = await gateOf(control, 'n1')
    control.leave('n4')

    expect(emptying).to.deep.equal(['n4 is emptying'])
    expect(await gateOf(control, 'n1')).to.deep.equal([])
  })
})
