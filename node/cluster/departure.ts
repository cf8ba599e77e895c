// The orderly end of a node's part in its cluster. Nobody waits for it when it stops: the controller sees that it leaves
// and gives its leaderships to others, and the leaders of its other replicas take it out of their in-sync sets.

import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { NodeId, ShardConfiguration } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'
import type { Membership } from './membership.ts'

/** A leaving node waits this long for others to take over what it does. */
const DEPARTURE_MS = 30_000
const POLL_MS = 50

type Seen = Pick<ClusterMap, 'node' | 'nodes' | 'shards'>

/** What a leaving node leads, and who else is there. */
export interface Leaving {
  readonly led: () => readonly unknown[]
  readonly map: Seen
}

/** Resolves when the node leads nothing and no leader counts on it, when nobody else is there, or after half a minute. */
export async function depart(
  membership: Pick<Membership, 'leave' | 'nodeId'>,
  { led, map }: Leaving,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  try {
    await membership.leave()
  } catch (error) {
    return log.warn('the cluster does not know that this node leaves', { error: messageOf(error) })
  }
  const { nodeId } = membership
  const isAwaited = (): boolean => led().length > 0 || shardsToLeave(map, nodeId) > 0
  const untilMs = clock.monotonicMs() + DEPARTURE_MS
  while (isAwaited() && !isAlone(map, nodeId) && clock.monotonicMs() < untilMs) {
    await clock.sleep(POLL_MS)
  }
  if (led().length > 0) log.info('leaderships end with this node', { count: led().length })
}

function isAlone(map: Seen, self: NodeId): boolean {
  return map.nodes().every(({ id, registration }) => {
    return id === self || registration === undefined || registration.isLeaving
  })
}

/**
 * The number of shards whose leaders will take this node out of their in-sync sets, and have not yet: L7 of
 * replication/core/leader.ts. If the node stopped now, their writes would wait until it counts as a laggard.
 */
function shardsToLeave(map: Pick<Seen, 'node' | 'shards'>, self: NodeId): number {
  let count = 0
  for (const configuration of map.shards().values()) {
    if (isToLeave(map, configuration, self)) count += 1
  }
  return count
}

function isToLeave(
  map: Pick<Seen, 'node'>,
  { leader, inSync, minInSync }: ShardConfiguration,
  self: NodeId,
): boolean {
  if (leader === undefined || leader.node === self || inSync.length <= minInSync) return false
  if (inSync.every(({ node }) => node !== self)) return false
  const registration = map.node(leader.node)?.registration
  return registration?.incarnation === leader.incarnation && !registration.isLeaving
}
