// What a data directory is used for. Swarm mode and a node of a cluster keep different things in it, and neither finds
// what the other has stored.

import { ServiceError } from '../lib/errors.ts'
import { ownCommand } from '../lib/own-command.ts'
import { NodeIdentity } from './cluster/node-identity.ts'
import type { Coordination } from './coordination/coordination.ts'
import { TABLE_PREFIX } from './catalog/records/table-record.ts'

/** Rejects with INVALID_ARGUMENT if a node of a cluster has used the directory. */
export async function refuseDirectoryOfNode(directory: string): Promise<void> {
  const cluster = await NodeIdentity.clusterOf(directory)
  if (cluster === undefined) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `the data directory ${directory} belongs to a node of the cluster "${cluster.name}"; ` +
      `start it with ${ownCommand('node')}, or use another --data-dir`,
  )
}

/** Rejects with INVALID_ARGUMENT if a store in swarm mode has tables in the directory. `local` is its own catalog. */
export async function refuseDirectoryOfSwarm(
  directory: string,
  local: Pick<Coordination, 'list'>,
): Promise<void> {
  const { entries } = await local.list(TABLE_PREFIX)
  if (entries.length === 0) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `the data directory ${directory} has tables of a store in swarm mode, which a cluster does not see; ` +
      `start it with ${ownCommand('swarm')}, or use an empty directory`,
  )
}
