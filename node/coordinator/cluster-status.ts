import { LocalShard } from '../shard/local-shard.ts'
import type { Shard } from '../shard/shard.ts'
import type { OpenTable } from './tables/open-table.ts'
import type { ClusterStatus, ShardHealth } from './store-service.ts'
import { INTERNAL_PREFIX } from './tables/table-indexes.ts'

/** The worst state of any shard decides the health; every problem is named in the message. */
export function clusterStatusOf(state: {
  readonly tables: readonly OpenTable[]
  readonly version: string
  readonly ready: boolean
}): ClusterStatus {
  const shards = state.tables.flatMap(({ record, shards: open }) =>
    open.map((shard) => [shard.id, healthOf(record.name, shard)] as const),
  )
  const problems = shards
    .filter(([, { state: kind }]) => kind !== 'serving')
    .map(([id, { table, message }]) => `shard ${id} of table "${table}": ${message}`)
  if (!state.ready) problems.unshift('starting: recovery has not finished')
  return {
    health: healthOfAll(
      shards.map(([, health]) => health),
      state.ready,
    ),
    message: problems.length === 0 ? 'all shards serve' : problems.join('; '),
    auth_enabled: false,
    swarm_mode: true,
    version: state.version,
    tables: state.tables.filter(({ record }) => !record.name.startsWith(INTERNAL_PREFIX)).length,
    shards: Object.fromEntries(shards),
  }
}

function healthOfAll(shards: readonly ShardHealth[], ready: boolean): ClusterStatus['health'] {
  const failed = shards.filter(({ state }) => state === 'failed').length
  if (failed > 0) return failed === shards.length ? 'unhealthy' : 'degraded'
  return ready && shards.every(({ state }) => state === 'serving') ? 'healthy' : 'degraded'
}

function healthOf(table: string, shard: Shard): ShardHealth {
  const state = shard.state()
  return {
    table,
    state: state.kind,
    message: state.kind === 'serving' ? '' : state.reason,
    pending_intents: shard instanceof LocalShard ? shard.heldKeys : 0,
  }
}
