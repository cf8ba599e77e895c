// Which cluster a node belongs to. The first node creates it.

import { ServiceError } from '../../lib/errors.ts'
import {
  IDENTITY_KEY,
  decodeIdentity,
  encodeIdentity,
} from '../controller/core/records/cluster-codec.ts'
import type { ClusterIdentity } from '../controller/core/records/cluster-codec.ts'
import type { Coordination } from '../coordination/coordination.ts'

/** A node that wants to join. */
export interface Claim {
  /** The name that the node was started with. */
  readonly name: string
  /** The cluster that its data directory belongs to; undefined for one that never joined. */
  readonly remembered: ClusterIdentity | undefined
  /** Makes the id of a new cluster. */
  readonly newId: () => string
}

/**
 * The cluster that the coordination store belongs to, created if there was none. Rejects with
 * INVALID_ARGUMENT and both names if the data directory belongs to another one, and with UNAVAILABLE if
 * the store cannot be asked. Of several first nodes one creates the cluster, and the others join it.
 */
export async function claimCluster(
  coordination: Coordination,
  { name, remembered, newId }: Claim,
): Promise<ClusterIdentity> {
  if (remembered !== undefined && remembered.name !== name) {
    throw otherCluster(remembered, `"${name}"`)
  }
  const found = await coordination.get(IDENTITY_KEY)
  if (found !== undefined) return checked(decodeIdentity(found.value), { name, remembered })
  if (remembered !== undefined) throw forgotten(remembered)
  const created = { name, id: newId() }
  const value = encodeIdentity(created)
  const outcome = await coordination.commit({
    when: [{ key: IDENTITY_KEY, createRevision: 0 }],
    changes: [{ type: 'put', key: IDENTITY_KEY, value }],
  })
  if (outcome.kind === 'committed') return created
  const [other] = outcome.entries
  if (other !== undefined) return checked(decodeIdentity(other.value), { name, remembered })
  throw new ServiceError('UNAVAILABLE', `the identity of the cluster ${name} changes; try again`)
}

function checked(
  found: ClusterIdentity,
  { name, remembered }: Pick<Claim, 'name' | 'remembered'>,
): ClusterIdentity {
  if (found.name !== name) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `the coordination store belongs to the cluster "${found.name}", not to "${name}"`,
    )
  }
  if (remembered === undefined || remembered.id === found.id) return found
  throw otherCluster(remembered, `"${found.name}" (id ${found.id})`)
}

function otherCluster(own: ClusterIdentity, other: string): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `this data directory belongs to the cluster "${own.name}" (id ${own.id}), not to ${other}; ` +
      'start it with its own cluster, or use an empty directory',
  )
}

function forgotten({ name, id }: ClusterIdentity): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `this data directory belongs to the cluster "${name}" (id ${id}), but the coordination store ` +
      'does not know that cluster; restore a backup of etcd, or correct its addresses',
  )
}
