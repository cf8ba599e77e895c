import type { NodeId } from '../replication/core/configuration.ts'
import type { PeerAddress } from '../peer/peer.ts'

/** Undefined for a text that is not `host:port`; a host of IPv6 stands in brackets. */
export function peerAddress(nodeId: NodeId, text: string): PeerAddress | undefined {
  const parts = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<host>[^:[\]/]+)):(?<port>\d{1,5})$/i.exec(
    text,
  )?.groups
  const host = parts?.['v6'] ?? parts?.['host']
  const port = Number(parts?.['port'])
  if (host === undefined || port === 0 || port > 65_535) return undefined
  return { nodeId, host, port }
}
