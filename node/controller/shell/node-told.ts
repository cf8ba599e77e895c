// What nodes tell the controller now and then.

import type { NodeId } from '../../replication/core/configuration.ts'
import type { ShardPath } from '../core/records/cluster-codec.ts'
import type { NodeDisk } from '../core/view/node-view.ts'

/** The size of a replica of a shard, as its leader knows it. */
export interface ShardSize {
  readonly path: ShardPath
  readonly bytes: number
}

/** The disk of the node that says so. */
export interface ToldDisk {
  readonly node: NodeId
  readonly disk: NodeDisk
}

/** What a node tells the controller now and then, without being asked. */
export interface NodeTold {
  /** The shards that it leads. */
  readonly sizes: readonly ShardSize[]
  readonly disk?: ToldDisk | undefined
}
