import type { KeyRange } from '../../shard/command/key-range.ts'
import type { ShardId } from '../../shard/shard-id.ts'

/** A shard as the catalog knows it: its id and the keys that it owns. */
export interface ShardRecord {
  readonly id: ShardId
  readonly range: KeyRange
}
