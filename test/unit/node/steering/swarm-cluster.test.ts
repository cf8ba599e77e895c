import { expect } from 'chai'
import { ServiceError } from '../../../../lib/errors.ts'
import type { ClusterService } from '../../../../node/steering/cluster-service.ts'
import { SwarmCluster } from '../../../../node/steering/swarm-cluster.ts'
import { errorOf } from '../../../support/error-of.ts'
import { SwarmHarness } from '../../../support/servers/swarm-harness.ts'

const ALL = { table: undefined, trouble: undefined, limit: 100, cursor: undefined }

describe('SwarmCluster', () => {
  let harness: SwarmHarness

  beforeEach(async () => {
    harness = await SwarmHarness.open()
    await harness.store.createTable('books', { num_shards: 3 })
    await harness.store.createTable('films', {})
  })

  afterEach(() => harness.close())

  it('is one node that leads every shard', async () => {
    const [node, ...others] = (await harness.cluster.nodes()).nodes
    const summary = await harness.cluster.summary()

    expect(others).to.deep.equal([])
    expect(node).to.include({ id: 'node', state: 'serving', replicas: 4, leaders: 4 })
    expect(summary).to.deep.include({ mode: 'swarm', controller: 'node', waiting: [] })
    expect(summary.shards).to.include({ total: 4, leaderless: 0 })
    expect((await harness.store.status()).cluster).to.deep.equal(summary)
  })

  it('lists its shards in pages, those of a table together', async () => {
    const { shards } = await harness.cluster.shards(ALL)
    const page = await harness.cluster.shards({ ...ALL, limit: 3 })
    const rest = await harness.cluster.shards({ ...ALL, limit: 3, cursor: page.next_cursor })
    const books = await harness.cluster.shards({ ...ALL, table: 'books', limit: 3 })

    expect([...page.shards, ...rest.shards]).to.deep.equal(shards)
    expect(rest.next_cursor).to.equal(undefined)
    expect(books.shards.map(({ table }) => table)).to.deep.equal(['books', 'books', 'books'])
    expect(books.next_cursor).to.equal(undefined)
    expect(shards[0]).to.deep.include({
      leader: 'node',
      replicas: [{ node: 'node', role: 'leader', in_sync: true }],
    })
    expect((await harness.cluster.shards({ ...ALL, trouble: 'any' })).shards).to.deep.equal([])
  })

  it('shows a failed shard as one without a leader, with the reason', async () => {
    const { registry, clock } = harness
    const [failed] = registry.tables().flatMap(({ shards }) => shards)
    const cluster = new SwarmCluster({
      nodeId: 'node',
      version: '1',
      registry,
      clock,
      disk: () => ({ totalBytes: 1000, freeBytes: 400 }),
      conditionsOf: async (tables) =>
        new Map(
          tables
            .flatMap(({ shards }) => shards)
            .map(({ id }) => [
              id,
              id === failed?.id
                ? { kind: 'failed', reason: 'disk gone' }
                : { kind: 'serving', documentsBehind: 0 },
            ]),
        ),
    })

    const { shards } = await cluster.shards({ ...ALL, trouble: 'leaderless' })

    expect(shards).to.have.length(1)
    expect(shards[0]).to.deep.include({ id: failed?.id, leader: null, waits: 'disk gone' })
    expect((await cluster.summary()).shards).to.include({ total: 4, leaderless: 1 })
    const [node] = (await cluster.nodes()).nodes
    expect(node?.disk).to.deep.equal({ total_bytes: 1000, free_bytes: 400 })
  })

  const wishes: Readonly<Record<string, (cluster: ClusterService) => Promise<unknown>>> = {
    'a drain': (cluster) => cluster.steerNode('node', { kind: 'drain' }),
    'a decommission': (cluster) => cluster.steerNode('node', { kind: 'decommission' }),
    'a move': (cluster) => cluster.moveReplica('a', { from: 'node', to: 'b' }),
    'a transfer': (cluster) => cluster.transferLeader('a', 'b'),
  }
  for (const [name, wish] of Object.entries(wishes)) {
    it(`refuses ${name} with the reason`, async () => {
      const error = await errorOf(() => wish(harness.cluster))

      expect(error).to.be.instanceOf(ServiceError)
      expect(error).to.include({ code: 'INVALID_ARGUMENT' })
      expect(String(error)).to.match(/swarm mode, with one node: no other .* could/)
    })
  }
})
