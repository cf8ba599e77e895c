import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { NearTables } from '../../../../../node/search/tables/near-tables.ts'
import type { QueriedTable } from '../../../../../node/search/tables/queried-table.ts'
import { RemoteReplica } from '../../../../../node/shard/remote/remote-replica.ts'
import type { Shard } from '../../../../../node/shard/shard.ts'
import { POSITION, STATISTICS } from '../../../../support/fakes/watched-shard.ts'
import { RemoteBench } from '../../../../support/worlds/remote-bench.ts'
import { SHARD_ID } from '../../../../support/worlds/remote-world.ts'

const conditions = {
  query: undefined,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: undefined,
}
const asked = { kind: 'text', question: 'statistics', request: { conditions } } as const

/** The leader is node a, and the near replica node b. */
class NearBench {
  readonly bench: RemoteBench
  readonly tables: NearTables

  constructor(bench: RemoteBench) {
    const { clock, hybridClock, world } = bench
    const { places } = world
    const link = () => places.linkOf('b')
    const random = seededRandom(3)
    const near = new RemoteReplica({ id: SHARD_ID, node: 'b', link, clock, hybridClock, random })
    this.bench = bench
    this.tables = new NearTables({ nearOf: () => near, clock })
  }

  table(): QueriedTable {
    const shard: Shard = this.bench.remote
    const shardOf = (): Shard => shard
    const shards = [shard]
    return this.tables.of({
      name: 'books',
      schema: undefined,
      textIndexes: ['text'],
      vectorIndexes: [],
      shards,
      shardOf,
    })
  }

  async search(table: QueriedTable, index = 'text'): Promise<unknown> {
    const shard = must(table.shards[0], 'a shard')
    const deadlineMs = this.bench.clock.monotonicMs() + 60_000
    const limits = { signal: new AbortController().signal, deadlineMs }
    return this.bench.world.settled(shard.search(index, asked, limits))
  }
}

describe('NearTables', () => {
  it('asks the leader for its position once for a query, and the near replica for answers', async () => {
    await using bench = await RemoteBench.open()
    bench.watched.placed.shownThrough = POSITION.sequence
    const near = new NearBench(bench)
    const table = near.table()

    const answers = [await near.search(table), await near.search(table)]

    expect(answers).to.deep.equal([STATISTICS, STATISTICS])
    expect(bench.watched.calls).to.deep.equal(['indexPosition', 'searchFrom', 'searchFrom'])
    expect(table.moves?.()).to.equal(0)
  })

  it('asks for the position of each index that a query asks', async () => {
    await using bench = await RemoteBench.open()
    bench.watched.placed.shownThrough = POSITION.sequence
    const near = new NearBench(bench)
    const table = near.table()

    for (const index of ['text', 'notes', 'text']) await near.search(table, index)

    const calls = ['indexPosition', 'searchFrom', 'indexPosition', 'searchFrom', 'searchFrom']
    expect(bench.watched.calls).to.deep.equal(calls)
  })

  it('asks the leader instead when an answer shows more than its index will', async () => {
    await using bench = await RemoteBench.open()
    bench.watched.placed.shownThrough = POSITION.sequence + 1
    const near = new NearBench(bench)

    await near.search(near.table())

    const calls = ['indexPosition', 'searchFrom', 'indexPosition', 'search']
    expect(bench.watched.calls).to.deep.equal(calls)
  })

  it('asks the leader instead of a node that is gone, once', async () => {
    await using bench = await RemoteBench.open()
    bench.watched.placed.shownThrough = POSITION.sequence
    const near = new NearBench(bench)
    const table = near.table()
    await near.search(table)
    await bench.world.close('b')
    bench.watched.calls.length = 0

    const answer = await near.search(table)

    expect(answer).to.deep.equal(STATISTICS)
    expect(bench.watched.calls).to.deep.equal(['search'])
    expect(table.moves?.(), 'statistics and hits are asked for again').to.equal(1)
    await near.search(table)
    expect(bench.watched.calls).to.deep.equal(['search', 'search'])
  })

  it('asks the leader instead of a node that does not answer, and for a while', async () => {
    await using bench = await RemoteBench.open()
    bench.watched.placed.shownThrough = POSITION.sequence
    const near = new NearBench(bench)
    await near.search(near.table())
    bench.world.swallowAnswers('b', true)
    const sinceMs = bench.clock.monotonicMs()

    await near.search(near.table())

    const tookMs = bench.clock.monotonicMs() - sinceMs
    expect(tookMs).to.be.within(1, 2000)
    bench.watched.calls.length = 0
    await near.search(near.table())
    expect(bench.watched.calls).to.deep.equal(['search'])
    bench.world.swallowAnswers('b', false)
    bench.clock.advance(10 * tookMs)
    bench.watched.calls.length = 0
    await near.search(near.table())
    expect(bench.watched.calls).to.deep.equal(['indexPosition', 'searchFrom'])
  })
})
