import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { ControlledCluster } from '../../../../node/steering/controlled-cluster.ts'
import type { ShardFilter } from '../../../../node/steering/cluster-service.ts'
import { clusterProblems } from '../../../../node/steering/cluster-problems.ts'
import { errorOf } from '../../../support/error-of.ts'
import { SteeredCluster } from '../../../support/fakes/steered-cluster.ts'
import { SwarmHarness } from '../../../support/servers/swarm-harness.ts'

const ALL: ShardFilter = { table: undefined, trouble: undefined, limit: 100, cursor: undefined }

async function gatesOf(cluster: ControlledCluster): Promise<readonly unknown[][]> {
  const { nodes } = await cluster.nodes()
  return nodes.map(({ safe_to_update: isSafe, update_waits_for: why }) => [isSafe, why])
}

describe('ControlledCluster', () => {
  let harness: SwarmHarness
  let control: SteeredCluster
  let cluster: ControlledCluster
  let ids: readonly string[]

  beforeEach(async () => {
    harness = await SwarmHarness.open()
    const { shards } = await harness.store.createTable('books', { split_keys: ['h', 'q'] })
    ids = Object.keys(shards).toSorted()
    control = new SteeredCluster(['n1', 'n2', 'n3', 'n4'])
    for (const table of harness.registry.tables()) {
      for (const { id } of table.shards) {
        control.addShard(`${table.tableId}/${id}`, ['n1', 'n2', 'n3'])
      }
    }
    cluster = new ControlledCluster({
      control,
      registry: harness.registry,
      lags: control.lags,
      leftovers: control.leftovers,
      recover: control.recover,
      clock: systemClock,
    })
  })

  afterEach(() => harness.close())

  const first = (): string => ids[0] ?? ''

  it('sums the cluster up', async () => {
    const { nodes, shards, ...summary } = await cluster.summary()

    expect(summary).to.deep.equal({
      mode: 'cluster',
      name: 'library',
      controller: 'n1',
      moves: 0,
      waiting: [],
    })
    expect(nodes).to.include({ serving: 4, lost: 0 })
    expect(shards).to.include({ total: 3, leaderless: 0, under_replicated: 0 })
  })

  it('shows the disk of a node that is there and has told of it, and when it joined', async () => {
    const disk = { totalBytes: 1000, freeBytes: 400 }
    const record = control.core.cluster.nodes.get('n1')?.stored?.record
    const joined = { ...must(record, 'n1'), registeredAtMs: 1_700_000_000_000 }
    control.core.observe({ kind: 'node', id: 'n1', record: joined, revision: 10_000 }, 0)
    for (const id of ['n1', 'n2', 'stranger']) {
      control.core.observe({ kind: 'disk', id, disk }, 0)
    }
    control.leave('n2')

    const { nodes } = await cluster.nodes()

    expect(nodes.map(({ disk: shown }) => shown)).to.deep.equal([
      { total_bytes: 1000, free_bytes: 400 },
      undefined,
      undefined,
      undefined,
    ])
    expect(nodes.map(({ registered_at: at }) => at)).to.deep.equal([
      '2023-11-14T22:13:20.000Z',
      undefined,
      undefined,
      undefined,
    ])
  })

  it('says that more waits than it names, and only then', async () => {
    const report = await control.report()
    const [node] = report.nodes
    const [tableId] = harness.registry.tables().map((table) => table.tableId)
    const waiting = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        path: `${tableId ?? ''}/${i.toString(16).padStart(16, '0')}` as const,
        reason: 'no room',
      }))
    const withWaiting = async (count: number) => {
      const [shard] = await control.listShards({ tableId: undefined, trouble: undefined, after: undefined, limit: 1 }) // prettier-ignore
      control.report = async () => ({
        ...report,
        troubled: waiting(count).map(({ path, reason }) => ({ ...shard!, path, waits: reason })),
        nodes: [
          {
            ...node!,
            emptying: {
              isDone: false,
              replicasLeft: count,
              leadersLeft: 0,
              moving: 0,
              waiting: waiting(count),
            },
          },
        ],
      })
      const summary = await cluster.summary()
      const [shown] = (await cluster.nodes()).nodes
      return [summary, shown?.emptying].map((one) => [one?.waiting.length, one?.truncated])
    }

    expect(await withWaiting(100)).to.deep.equal([
      [100, undefined],
      [100, undefined],
    ])
    expect(await withWaiting(101)).to.deep.equal([
      [100, true],
      [100, true],
    ])
  })

  it('says why it knows nothing, instead of failing', async () => {
    control.failure = new ServiceError('UNAVAILABLE', 'etcd does not answer')

    const summary = await cluster.summary()

    expect(summary).to.include({ mode: 'cluster', problem: 'etcd does not answer' })
    expect(clusterProblems(summary)).to.deep.equal(['etcd does not answer'])
    const { nodes, age_ms: ageMs, problem } = await cluster.nodes()
    expect([ageMs, problem]).to.deep.equal([1235, 'etcd does not answer'])
    expect(nodes.map(({ id }) => id)).to.deep.equal(['n1', 'n2', 'n3', 'n4'])
  })

  it('sums up what the node knows, and how old it is, while no controller reports', async () => {
    control.report = () => Promise.withResolvers<never>().promise
    control.trouble = 'etcd has not answered since noon'
    const clock = new ManualClock()
    const { registry } = harness
    const asked = new ControlledCluster({
      control,
      registry,
      lags: control.lags,
      leftovers: control.leftovers,
      recover: control.recover,
      clock,
    })

    const summing = asked.summary()
    clock.advance(2000)

    const summary = await summing
    expect(summary).to.deep.include({ age_ms: 1235, controller: null, moves: 0 })
    expect(summary.nodes).to.include({ serving: 3 })
    expect(summary.problem).to.equal('etcd has not answered since noon')
  })

  it('forgets a node that was decommissioned, is gone and holds nothing', async () => {
    expect(await errorOf(() => cluster.forgetNode('n4'))).to.include({ code: 'CONFLICT' })
    await cluster.steerNode('n4', { kind: 'decommission' })
    const early = await errorOf(() => cluster.forgetNode('n4'))
    expect(early).to.include({ code: 'CONFLICT' })
    control.leave('n4')
    control.step()
    expect((await cluster.summary()).nodes).to.include({ lost: 0 })

    await cluster.forgetNode('n4')

    expect((await cluster.nodes()).nodes.map(({ id }) => id)).to.deep.equal(['n1', 'n2', 'n3'])
    expect(await errorOf(() => cluster.forgetNode('n4'))).to.include({ code: 'NOT_FOUND' })
  })

  it('says that it is frozen', async () => {
    control.isFrozen = true

    expect(await cluster.summary()).to.include({ frozen: true })
  })

  it('is not healthy while a node is away', async () => {
    control.leave('n4')
    control.step()

    expect(clusterProblems(await cluster.summary())).to.deep.equal(['1 node is away'])
  })

  it('describes nodes with their addresses for clients', async () => {
    control.leave('n4')

    const { nodes } = await cluster.nodes()

    expect(nodes.map(({ id }) => id)).to.deep.equal(['n1', 'n2', 'n3', 'n4'])
    expect(nodes[0]).to.deep.include({ api: 'n1:8080', leaders: 3, safe_to_stop: true })
    expect(nodes[3]).to.not.have.any.keys('api', 'version', 'incarnation', 'needed_for')
  })

  it('describes shards with roles and lags', async () => {
    control.lagging.set('n2', { entries: 7, ms: 1200 })

    const { shards } = await cluster.shards(ALL)

    expect(shards.map(({ id }) => id)).to.have.members(ids)
    expect(shards[0]).to.deep.include({
      table: 'books',
      leader: 'n1',
      replicas: [
        { node: 'n1', role: 'leader', in_sync: true },
        { node: 'n2', role: 'follower', in_sync: true, lag: 7, lag_ms: 1200 },
        { node: 'n3', role: 'follower', in_sync: true },
      ],
      replication_factor: 3,
      min_in_sync: 2,
    })
  })

  it('names the lag of the slowest replica of each shard', async () => {
    control.lagging.set('n2', { entries: 7, ms: 1200 })
    control.lagging.set('n3', { entries: 9, ms: 5 })

    const slowest = await cluster.slowest()

    expect([...slowest.keys()]).to.have.members(ids)
    expect(slowest.get(first())).to.deep.equal({ entries: 9, ms: 5 })
  })

  it('lists shards in pages, each once', async () => {
    const seen: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await cluster.shards({ ...ALL, limit: 2, cursor })
      seen.push(...page.shards.map(({ id }) => id))
      cursor = page.next_cursor
      pages += 1
    } while (cursor !== undefined)

    expect(seen.toSorted()).to.deep.equal(ids)
    expect(pages).to.equal(2)
  })

  it('finds the shards of a table, and those with a trouble', async () => {
    const other = await errorOf(() => cluster.shards({ ...ALL, table: 'none' }))
    for (const node of ['n1', 'n2', 'n4']) control.leave(node)
    control.step()

    const none = await cluster.shards({ ...ALL, trouble: 'unplaced' })
    const below = await cluster.shards({ ...ALL, table: 'books', trouble: 'below_minimum' })
    const any = await cluster.shards({ ...ALL, trouble: 'any' })

    expect(other).to.include({ code: 'NOT_FOUND' })
    expect(none.shards).to.deep.equal([])
    expect([below.shards.length, any.shards.length]).to.deep.equal([3, 3])
    expect(clusterProblems(await cluster.summary())[0]).to.match(/^3 of 3 shards take no writes/)
  })

  it('drains a node until it holds nothing, and takes it back', async () => {
    const begun = await cluster.steerNode('n1', { kind: 'drain' })
    const again = await cluster.steerNode('n1', { kind: 'drain' })
    for (let round = 0; round < 30; round++) control.step()
    const done = (await cluster.nodes()).nodes.find(({ id }) => id === 'n1')
    const back = await cluster.steerNode('n1', { kind: 'undrain' })

    expect(begun).to.deep.include({ state: 'draining', condition: 'emptying' })
    expect(begun.emptying).to.include({ done: false, replicas_left: 3, leaders_left: 3 })
    expect(again.state).to.equal('draining')
    expect(done?.emptying).to.include({ done: true, replicas_left: 0 })
    expect(back).to.include({ state: 'serving' })
    expect(back.emptying).to.equal(undefined)
  })

  it('shows which operation drains a node, and names both to another one', async () => {
    const begun = await cluster.steerNode('n1', { kind: 'drain', operationId: 'a' })
    const other = await errorOf(() =>
      cluster.steerNode('n1', { kind: 'undrain', operationId: 'b' }),
    )
    const listed = (await cluster.nodes()).nodes.find(({ id }) => id === 'n1')
    const back = await cluster.steerNode('n1', { kind: 'undrain', operationId: 'a' })

    expect([begun.operation_id, listed?.operation_id]).to.deep.equal(['a', 'a'])
    expect(other).to.include({ code: 'CONFLICT' })
    expect(String(other)).to.include('n1 is draining by the operation a, and not by b')
    expect(back).to.not.have.property('operation_id')
  })

  it('opens no gate of an update without a controller, nor by one of an earlier version', async () => {
    const open = await gatesOf(cluster)
    const report = await control.report()
    const nodes = report.nodes.map((node) => ({ ...node, updateWaitsFor: undefined }))
    control.report = async () => ({ ...report, nodes })
    const earlier = await gatesOf(cluster)
    await control.requestOfNode({ kind: 'drain', node: 'n4' })
    Reflect.deleteProperty(control, 'report')
    const drained = await gatesOf(cluster)

    expect(open).to.deep.equal(open.map(() => [true, undefined]))
    for (const gate of earlier) {
      expect(gate).to.deep.equal([
        false,
        'the controller runs an earlier version, which does not say',
      ])
    }
    expect(drained[0]).to.deep.equal([false, 'n4 is emptying'])
    expect(drained[3]).to.deep.equal([true, undefined])
  })

  it('refuses what the state of a node does not allow', async () => {
    await cluster.steerNode('n4', { kind: 'decommission' })

    const late = await errorOf(() => cluster.steerNode('n4', { kind: 'undrain' }))
    const unknown = await errorOf(() => cluster.steerNode('n9', { kind: 'drain' }))

    expect(late).to.include({ code: 'CONFLICT' })
    expect(String(late)).to.include('start it over an empty data directory')
    expect(unknown).to.include({ code: 'NOT_FOUND' })
  })

  it('moves a replica, and takes the same wish again', async () => {
    const nodes = { from: 'n3', to: 'n4' }
    const begun = await cluster.moveReplica(first(), nodes)
    const underWay = await cluster.moveReplica(first(), nodes)
    const other = await errorOf(() => cluster.moveReplica(first(), { from: 'n2', to: 'n4' }))
    for (let round = 0; round < 10; round++) control.step()
    const over = await cluster.moveReplica(first(), nodes)

    expect(begun.move).to.deep.include({ cause: 'request', from: 'n3', to: 'n4' })
    expect(underWay.move).to.deep.equal(begun.move)
    expect(other).to.include({ code: 'CONFLICT' })
    expect(over.move).to.equal(undefined)
    expect(over.replicas.map(({ node }) => node)).to.have.members(['n1', 'n2', 'n4'])
  })

  it('transfers a leadership, and takes the same wish again', async () => {
    const led = await cluster.transferLeader(first(), 'n2')
    const again = await cluster.transferLeader(first(), 'n2')
    const none = await errorOf(() => cluster.transferLeader(first(), 'n4'))
    const unknown = await errorOf(() => cluster.transferLeader('00000000000000ff', 'n2'))

    expect(led).to.include({ leader: 'n2', epoch: 2 })
    expect(again).to.include({ leader: 'n2', epoch: 2 })
    expect(String(none)).to.include('no replica in sync')
    expect(unknown).to.include({ code: 'NOT_FOUND' })
  })
})
