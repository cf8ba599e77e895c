import { randomUUID } from 'node:crypto'
import { credentials } from '@grpc/grpc-js'
import type { ChannelCredentials } from '@grpc/grpc-js'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import type { Coordination } from '../coordination.ts'
import { ClusterKeys } from './cluster-keys.ts'
import { CommitLane } from './commit-lane.ts'
import { EtcdCoordination } from './etcd-coordination.ts'
import { EtcdLeases } from './etcd-leases.ts'
import { EtcdMember } from './etcd-member.ts'
import { EtcdMembers } from './etcd-members.ts'
import type { EtcdTiming, EtcdUser } from './etcd-members.ts'

const PORT = '2379'
const TIMING: EtcdTiming = { attemptTimeoutMs: 2000, callTimeoutMs: 8000, watchIdleMs: 5000 }

/** PEM files by their content. */
export interface EtcdTls {
  /** Who signs etcd's certificates, if that is not an authority that Node trusts anyway. */
  readonly ca?: Buffer
  /** Of this node, where etcd asks for it: both or neither. */
  readonly cert?: Buffer
  readonly key?: Buffer
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
  readonly tls?: EtcdTls
  readonly user?: EtcdUser
  readonly timing?: Partial<EtcdTiming>
  readonly clock: Clock
  readonly random: Random
}

/**
 * Opens the coordination store of a cluster in etcd, when etcd has answered. Rejects with
 * INVALID_ARGUMENT for wrong options, FORBIDDEN if etcd refuses the user, and UNAVAILABLE if no member
 * answers in time.
 */
export async function openEtcdCoordination(options: EtcdOptions): Promise<Coordination> {
  const { cluster, owner, user, clock, random } = options
  const keys = new ClusterKeys(cluster)
  const mark = keys.mark(owner)
  const closing = new AbortController()
  const members = new EtcdMembers({
    members: membersOf(options),
    user,
    timing: { ...TIMING, ...options.timing },
    clock,
    random,
    closing: closing.signal,
  })
  const lane = new CommitLane({ members, mark, session: randomUUID() })
  const leases = new EtcdLeases({ members, clock, closing: closing.signal })
  const opened = new EtcdCoordination({ members, keys, lane, leases, clock, closing })
  try {
    await opened.commit({ when: [], changes: [] })
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

function membersOf({ endpoints, tls = {} }: EtcdOptions): readonly EtcdMember[] {
  if (endpoints.length === 0) throw invalid('etcd has at least one endpoint')
  const { cert, key } = tls
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid('a certificate for etcd comes with its key, and a key with its certificate')
  }
  return endpoints.map((endpoint) => {
    const { hostname, port, protocol } = parseEndpoint(endpoint)
    return new EtcdMember(`${hostname}:${port === '' ? PORT : port}`, credentialsOf(protocol, tls))
  })
}

function parseEndpoint(endpoint: string): URL {
  const url = URL.parse(endpoint)
  const isPlain = url?.pathname === '/' && url.search === '' && url.username === ''
  if (url !== null && isPlain && /^https?:$/.test(url.protocol)) return url
  throw invalid(`an endpoint of etcd is http://host:port or https://host:port, not "${endpoint}"`)
}

function credentialsOf(protocol: string, { ca, cert, key }: EtcdTls): ChannelCredentials {
  if (protocol === 'http:') return credentials.createInsecure()
  try {
    return credentials.createSsl(ca ?? null, key ?? null, cert ?? null)
  } catch (cause) {
    throw new ServiceError('INVALID_ARGUMENT', 'the TLS files for etcd are not PEM', { cause })
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
