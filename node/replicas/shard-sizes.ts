import { isServiceError } from '../../lib/errors.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { LedShard } from '../shard/led-shard.ts'

/** What a replica of a shard holds on the disk of its leader. */
export interface LedShardSize {
  readonly path: ShardPath
  readonly bytes: number
}

/**
 * The sizes of these shards, asked one after the other: a thousand of them are not worth a thousand threads. A
 * shard that is closed meanwhile is left out.
 */
export async function sizesOf(shards: readonly LedShard[]): Promise<readonly LedShardSize[]> {
  const sizes: LedShardSize[] = []
  for (const { tableId, id, store } of shards) {
    try {
      sizes.push({ path: `${tableId}/${id}`, bytes: await store.approximateBytes({}) })
    } catch (error) {
      if (!isServiceError(error)) throw error
    }
  }
  return sizes
}
