import { ServiceError } from '../../../lib/errors.ts'
import type { TableSettings } from '../../shard/command/table-settings.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import type { Shard } from '../../shard/shard.ts'
import type { ShardRecord } from '../records/shard-record.ts'
import type { OpenTable } from './open-table.ts'

/** A shard of a new table got no leader in time. */
export class NotServed extends ServiceError {
  constructor(why: string) {
    const problem = `the shards of the table did not get leaders in time (${why})`
    super('UNAVAILABLE', `${problem}; see the cluster status`)
  }
}

/**
 * The shards of tables, as the administration of tables needs them: those of this process, or those of a
 * cluster.
 *
 * Contract:
 * - `create` resolves when a new shard serves. It may be repeated for a table that is still `creating`. It rejects
 *   with NotServed if nobody serves the shard in time; nothing has been written to it then.
 * - `open` never fails: a shard that cannot be had refuses its calls and says why.
 * - `startTogether` names the shards of a start, all of which are then opened at once; their journal is read in one
 *   pass. Disposing the answer ends the start.
 * - `assertDroppable` throws UNAVAILABLE if other tables wait for an outcome that a failed shard of the
 *   table keeps.
 * - `end` resolves when the shards take no new writes and every transaction whose record lies on them has
 *   told its outcome. It rejects with UNAVAILABLE if a shard does not answer, and may be repeated.
 * - `destroy` removes everything that belongs to a shard. `close` keeps it.
 * - `apply` gives the shards the settings of a changed table.
 * - `announce` resolves when all nodes serve the table of this name as the catalog has it, or know that it is
 *   gone. It does not wait long for a node that does not answer, and never rejects.
 */
export interface TableShards {
  create(record: ShardRecord, settings: TableSettings): Promise<Shard>
  open(record: ShardRecord, settings: TableSettings): Promise<Shard>
  startTogether(ids: readonly ShardId[]): Promise<Disposable>
  apply(table: OpenTable): Promise<void>
  announce(name: string): Promise<void>
  assertDroppable(table: OpenTable): void
  end(table: OpenTable): Promise<void>
  destroy(shard: Shard): Promise<void>
  close(shard: Shard): Promise<void>
  closeAll(): Promise<void>
}
