import { randomBytes } from 'node:crypto'
import { systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { Replaceable } from '../../lib/replaceable.ts'
import { TcpTransport } from '../../node/peer/channels/tcp-transport.ts'
import { openPeerNode, PEER_VERSIONS } from '../../node/peer/connections/open-peer-node.ts'
import { PEER_LIMITS } from '../../node/peer/peer-limits.ts'
import type { PeerHandlers, PeerNode } from '../../node/peer/peer.ts'

export const ECHO = 1
export const COUNT = 2

/** A node with a secret and without TLS. */
export function openBenchNode(nodeId: string, handlers: PeerHandlers): Promise<PeerNode> {
  return openPeerNode({
    transport: new TcpTransport({ host: '127.0.0.1' }),
    cluster: 'bench',
    nodeId,
    secrets: new Replaceable([Buffer.alloc(32, 7)]),
    handlers,
    limits: PEER_LIMITS,
    versions: PEER_VERSIONS,
    port: 0,
    clock: systemClock,
    random: seededRandom(1),
    randomBytes,
    log: silentLog,
    onFault: (error) => {
      throw error
    },
  })
}
