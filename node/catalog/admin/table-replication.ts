// How many shards a table may have, how many replicas it wants for each of them, and how many of these a write waits for.

import { ServiceError } from '../../../lib/errors.ts'
import {
  DEFAULT_REPLICATION,
  type TableReplication,
} from '../../controller/core/view/cluster-view.ts'
import type { CreateTableRequest } from './create-table-request.ts'
import type { TableRecord } from '../records/table-record.ts'

/** What a store can do for its tables. */
export interface ReplicationRules {
  /** For tables that ask for nothing, and for those that were created before one could ask. */
  readonly defaults: TableReplication
  readonly factorMax: number
  /** The shards of one table. */
  readonly shardsMax: number
}

/** One process keeps one replica of each shard: a LevelDB, and a few open files for each. */
export const SWARM_REPLICATION: ReplicationRules = {
  defaults: { replicationFactor: 1, minInSync: 1 },
  factorMax: 1,
  shardsMax: 256,
}

/** Several nodes. A table may want more replicas than there are nodes now; it is degraded until they come. */
export const CLUSTER_REPLICATION: ReplicationRules = {
  defaults: DEFAULT_REPLICATION,
  factorMax: 7,
  shardsMax: 512,
}

/**
 * The replication that the request asks for; undefined if it asks for nothing. A member that is left
 * out takes its default, and the default of `min_in_sync` is at most the replication factor. Throws
 * INVALID_ARGUMENT.
 */
export function parseReplication(
  { replication_factor: factor, min_in_sync: minimum }: CreateTableRequest,
  { defaults, factorMax }: ReplicationRules,
): TableReplication | undefined {
  if (factor === undefined && minimum === undefined) return undefined
  const replicationFactor = factor ?? defaults.replicationFactor
  const minInSync = minimum ?? Math.min(defaults.minInSync, replicationFactor)
  if (replicationFactor > factorMax) throw tooMany(replicationFactor, factorMax)
  if (minInSync > replicationFactor) {
    const shown = factor === undefined ? `${replicationFactor} by default` : String(factor)
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `min_in_sync is ${minInSync}, but replication_factor is ${shown}; ` +
        'a write can wait for at most as many replicas as there are',
    )
  }
  return { replicationFactor, minInSync }
}

export function replicationOf(
  { replication }: Pick<TableRecord, 'replication'>,
  { defaults }: ReplicationRules,
): TableReplication {
  return replication ?? defaults
}

function tooMany(asked: number, factorMax: number): ServiceError {
  const problem =
    factorMax === 1
      ? 'this store runs in swarm mode, where one process keeps one replica of each shard; ' +
        'leave the member out, or run a cluster of several nodes'
      : `at most ${factorMax} replicas are possible`
  return new ServiceError('INVALID_ARGUMENT', `replication_factor is ${asked}, but ${problem}`)
}
