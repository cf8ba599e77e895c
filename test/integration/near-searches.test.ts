// Searches by replicas that do not lead: what they show, and when they are left for the leader.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { ManualClock } from '../../lib/clock.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { NearTables, type LedTable } from '../../node/search/tables/near-tables.ts'
import type { QueriedTable } from '../../node/search/tables/queried-table.ts'
import { unpackAnswer } from '../../node/index/text/search/packed-answer.ts'
import type { Shard } from '../../node/shard/shard.ts'
import type { ShardReplica } from '../../node/shard/shard-replica.ts'
import { failureOf } from '../support/failure-of.ts'
import { SearchedWorld } from '../support/worlds/searched-world.ts'
import type { TestNode } from '../support/worlds/replicated-world.ts'
import { textOp, textSearch } from '../support/worlds/text-shard.ts'

/** A table of one shard as a node sees it that has this replica, and asks this leader. */
function tableOf(shard: Shard, replica: ShardReplica, clock = new ManualClock()): QueriedTable {
  const shards = [shard]
  const shardOf = (): Shard => shard
  const table: LedTable = {
    name: 'books',
    schema: undefined,
    textIndexes: ['words'],
    vectorIndexes: [],
    shards,
    shardOf,
  }
  return new NearTables({ nearOf: () => replica, clock }).of(table)
}

async function found(world: SearchedWorld, table: QueriedTable): Promise<readonly string[]> {
  const shard = must(table.shards[0], 'a shard')
  const asked = shard.search<'text', 'search'>('words', textSearch('tide'), world.limits)
  const { hits } = runAtOnce(unpackAnswer(await world.when(asked)))
  return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
}

const searched = async (world: SearchedWorld, { shard }: TestNode) => {
  const asked = shard.search('words', textSearch('tide'), world.limits)
  return runAtOnce(unpackAnswer(await world.when(asked)))
}

describe('searches of a new leader', () => {
  it('are refused while its index lacks what its predecessor has acknowledged', async () => {
    await using world = await SearchedWorld.open()
    const [n1, n2] = [world.world.node('n1'), world.world.node('n2')]
    world.of(n2).fields.isOutOfReach = true
    await world.write(textOp('a', 'high tide'))
    await world.indexed(n1) // as a writer with `full_text` waits
    await world.followed(n2)

    world.world.control.elect(n2.replica)
    await world.until(() => n2.isServing)
    const refusal = await failureOf(searched(world, n2))
    world.of(n2).fields.isOutOfReach = false
    await world.indexed(n2)
    const { hits } = await searched(world, n2)

    expect(refusal).to.include({ code: 'UNAVAILABLE' })
    expect(hits.length).to.equal(1)
  })
})

describe('searches of a near replica', () => {
  it('ask the index of the leader nothing', async () => {
    await using world = await SearchedWorld.open()
    const [n1, n2] = [world.world.node('n1'), world.world.node('n2')]
    await world.write(textOp('a', 'high tide'), textOp('b', 'ebb'), textOp('c', 'low tide'))
    await world.indexed(n1)
    await world.followed(n2)
    await world.until(async () => (await n2.shard.indexStatus('words')).totalIndexed === 3)
    const before = [world.of(n1).events.questions, world.of(n2).events.questions]

    const keys = await found(world, tableOf(n1.shard, n2.shard))

    expect(keys).to.deep.equal(['a', 'c'])
    const after = [world.of(n1).events.questions, world.of(n2).events.questions]
    expect(after).to.deep.equal([before[0], (before[1] ?? 0) + 1])
  })

  it('are left for the leader while the replica lacks what a writer was promised', async () => {
    await using world = await SearchedWorld.open()
    const [n1, n2] = [world.world.node('n1'), world.world.node('n2')]
    world.of(n2).fields.isOutOfReach = true
    await world.write(textOp('a', 'high tide'))
    await world.indexed(n1)
    await world.followed(n2)
    const table = tableOf(n1.shard, n2.shard)

    expect(await found(world, table)).to.deep.equal(['a'])

    world.of(n2).fields.isOutOfReach = false
    await world.until(async () => (await n2.shard.indexStatus('words')).totalIndexed === 1)
    const before = world.of(n1).events.questions
    expect(await found(world, tableOf(n1.shard, n2.shard))).to.deep.equal(['a'])
    expect(world.of(n1).events.questions).to.equal(before)
  })

  it('show nothing that a later search of the leader does not show', async () => {
    await using world = await SearchedWorld.open()
    const [n1, n2] = [world.world.node('n1'), world.world.node('n2')]
    world.of(n1).fields.isOutOfReach = true
    await world.write(textOp('a', 'high tide'))
    await world.followed(n2)
    await world.until(async () => (await n2.shard.indexStatus('words')).totalIndexed === 1)

    const keys = await found(world, tableOf(n1.shard, n2.shard))
    const { hits } = await searched(world, n1)

    expect(keys).to.deep.equal([])
    expect(hits.length).to.equal(0)
  })

  it('are answered by a follower that is ahead of a leader that has just taken over', async () => {
    await using world = await SearchedWorld.open()
    const [n1, n2, n3] = ['n1', 'n2', 'n3'].map((name) => world.world.node(name))
    const [old, next, near] = [must(n1, 'n1'), must(n2, 'n2'), must(n3, 'n3')]
    world.of(next).fields.isOutOfReach = true
    await world.write(textOp('a', 'high tide'))
    await world.indexed(old)
    world.world.control.elect(next.replica)
    await world.until(() => next.isServing)
    await world.followed(near)
    await world.until(async () => (await near.shard.indexStatus('words')).totalIndexed === 1)

    const keys = await found(world, tableOf(next.shard, near.shard))

    expect(keys).to.deep.equal(['a'])
  })
})
