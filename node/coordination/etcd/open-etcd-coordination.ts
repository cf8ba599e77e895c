import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../lib/clock.ts'
import { credentialsAt, membersAt } from '../../../lib/etcd/etcd-endpoints.ts'
import type { EtcdTls } from '../../../lib/etcd/etcd-endpoints.ts'
import type { Current } from '../../../lib/replaceable.ts'
import type { Random } from '../../../lib/random.ts'
import type { Coordination } from '../coordination.ts'
import { ClusterKeys } from './cluster-keys.ts'
import { CommitLane } from './commit-lane.ts'
import { EtcdCoordination } from './etcd-coordination.ts'
import { EtcdLeases } from './etcd-leases.ts'
import { EtcdMembers } from './etcd-members.ts'
import type { EtcdTiming, EtcdUser } from './etcd-members.ts'
import { LeaseThread } from './lease-thread.ts'

const TIMING: EtcdTiming = { attemptTimeoutMs: 2000, callTimeoutMs: 8000, watchIdleMs: 5000 }

/** Files and a user, where etcd asks for them. */
export interface EtcdCredentials {
  readonly tls?: EtcdTls | undefined
  readonly user?: EtcdUser | undefined
}

/** Where etcd is, and who asks. */
export interface EtcdOptions {
  /** `http://host:port` or `https://host:port`, of one or more members of one etcd cluster. */
  readonly endpoints: readonly string[]
  /** The name of our cluster, under which its keys lie. */
  readonly cluster: string
  /**
   * Tells this writer from every other one that lives, such as the id of the data directory. A store
   * that is opened under the same id ends the commits of the one before it.
   */
  readonly owner: string
  /** By what this node proves itself. What is replaced is for later calls. Default: by nothing. */
  readonly credentials?: Current<EtcdCredentials>
  readonly timing?: Partial<EtcdTiming>
  /** Leases are renewed by a thread of its own (rule L3). It keeps the time of `systemClock`. */
  readonly leaseThread?: boolean
  readonly clock: Clock
  readonly random: Random
}

/**
 * Opens the coordination store of a cluster in etcd, when etcd has answered. Rejects with
 * INVALID_ARGUMENT for wrong options, FORBIDDEN if etcd refuses the user, and UNAVAILABLE if no member
 * answers in time.
 */
export async function openEtcdCoordination(options: EtcdOptions): Promise<Coordination> {
  const { cluster, owner, endpoints, credentials, clock, random } = options
  const keys = new ClusterKeys(cluster)
  const mark = keys.mark(owner)
  const closing = new AbortController()
  const timing = { ...TIMING, ...options.timing }
  const { tls, user } = credentials?.value ?? {}
  const connection = { endpoints, tls, user, timing }
  const members = new EtcdMembers({
    members: membersAt(connection),
    user,
    timing,
    clock,
    random,
    closing: closing.signal,
  })
  const lane = new CommitLane({ members, mark, session: randomUUID() })
  const thread = options.leaseThread === true ? new LeaseThread(connection, clock) : undefined
  const forget = credentials?.onReplaced((renewed) => {
    const by = { endpoints, timing, tls: renewed.tls, user: renewed.user }
    members.renew(credentialsAt(by), by.user)
    thread?.renew(by)
  })
  closing.signal.addEventListener('abort', () => forget?.(), { once: true })
  const leases = new EtcdLeases({ members, clock, thread, closing: closing.signal })
  const opened = new EtcdCoordination({ members, keys, lane, leases, clock, closing })
  try {
    await opened.commit({ when: [], changes: [] })
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}
