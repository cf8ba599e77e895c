import type { KeyInterval, ShardAddress } from '../../../node/shard/command/command.ts'
import type { Shard } from '../../../node/shard/shard.ts'
import type { ShardRouter } from '../../../node/shard/shard-router.ts'

/** The interval of one key. */
export function intervalOfKey({ tableId, key }: ShardAddress): KeyInterval {
  return { tableId, first: key, last: key }
}

/** A router over tables of one shard that knows everything: what it does not find is gone. */
export function routesTo(find: (address: ShardAddress) => Shard | undefined): ShardRouter {
  return {
    shardAt: async (address) => {
      const shard = find(address)
      return shard === undefined ? { kind: 'gone' } : { kind: 'shard', shard }
    },
    shardsMeeting: async ({ tableId, first }) => {
      const shard = find({ tableId, key: first })
      return shard === undefined ? { kind: 'gone' } : { kind: 'shards', shards: [shard] }
    },
  }
}
