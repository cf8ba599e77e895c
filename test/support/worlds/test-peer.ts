import { randomBytes } from 'node:crypto'
import type { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { Replaceable } from '../../../lib/replaceable.ts'
import type { MemoryNetwork } from '../../../node/peer/channels/memory-network.ts'
import { openPeerNode, PEER_VERSIONS } from '../../../node/peer/connections/open-peer-node.ts'
import { PEER_LIMITS } from '../../../node/peer/peer-limits.ts'
import type { PeerHandlers, PeerNode } from '../../../node/peer/peer.ts'

export interface TestPeerOptions {
  readonly clock: ManualClock
  readonly network: MemoryNetwork
  readonly handlers?: PeerHandlers
  readonly onFault?: (error: unknown) => void
}

/** A node's end of the peer protocol on a network in memory, where its host has its name and port 1. */
export function openTestPeer(
  nodeId: string,
  { clock, network, handlers = new Map(), onFault = () => undefined }: TestPeerOptions,
): Promise<PeerNode> {
  return openPeerNode({
    transport: network.host(nodeId),
    cluster: 'library',
    nodeId,
    secrets: new Replaceable([Buffer.alloc(32, 7)]),
    handlers,
    limits: PEER_LIMITS,
    versions: PEER_VERSIONS,
    port: 1,
    clock,
    random: seededRandom(1),
    randomBytes,
    log: silentLog,
    onFault,
  })
}
