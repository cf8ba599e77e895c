import type { ShardAddress } from '../../../node/shard/apply/command.ts'
import type { Shard } from '../../../node/shard/shard.ts'
import type { ShardRouter } from '../../../node/shard/shard-router.ts'

/** A router that knows everything: what it does not find is gone. */
export function routesTo(find: (address: ShardAddress) => Shard | undefined): ShardRouter {
  return {
    shardAt: async (address) => {
      const shard = find(address)
      return shard === undefined ? { kind: 'gone' } : { kind: 'shard', shard }
    },
  }
}
