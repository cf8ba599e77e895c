import { ServiceError } from '../../lib/errors.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { InSyncChange, ShardConfiguration } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'

/**
 * One shard's entry in the control plane, for the shell of its replica. Both calls reject while the store
 * cannot be asked, and with NOT_FOUND when the shard was deleted.
 */
export interface ShardControl {
  /** Makes the change if it still holds; resolves with the configuration that is there afterwards. */
  change(change: InSyncChange): Promise<ShardConfiguration>
  /** A linearizable read. */
  confirm(): Promise<ShardConfiguration>
}

export function shardControl(map: ClusterMap, path: ShardPath): ShardControl {
  return {
    change: async (change) => found(path, await map.changeInSync(path, change)),
    confirm: async () => found(path, await map.confirm(path)),
  }
}

function found(path: ShardPath, stored: ShardConfiguration | undefined): ShardConfiguration {
  if (stored !== undefined) return stored
  throw new ServiceError('NOT_FOUND', `the cluster has no shard ${path} any more`)
}
