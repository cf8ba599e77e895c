import { expect } from 'chai'
import { Leftovers } from '../../../../node/steering/leftovers.ts'
import type { ShardId } from '../../../../node/shard/shard-id.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'

const idOf = (number: number): ShardId => parseShardId(number.toString(16).padStart(16, '0'))

describe('Leftovers', () => {
  it('counts the replicas that its answer does not name', async () => {
    const held = new Set(Array.from({ length: 1002 }, (_, number) => idOf(number)))
    const dropped = {
      get leftovers() {
        return [...held]
      },
      collect: async (shards: readonly ShardId[]) => shards.filter((id) => held.delete(id)),
    }
    const leftovers = new Leftovers({ self: 'a', dropped, linkTo: () => undefined })

    const before = await leftovers.collect('a', [])
    const after = await leftovers.collect('a', [idOf(0), idOf(5000)])

    expect([before.leftover_count, before.leftovers.length]).to.deep.equal([1002, 1000])
    expect([after.leftover_count, after.removed]).to.deep.equal([1001, [idOf(0)]])
  })
})
