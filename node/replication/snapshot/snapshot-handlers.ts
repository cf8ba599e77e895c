import type { PeerHandlers, PeerRequest } from '../../peer/peer.ts'
import {
  decodeId,
  decodeHashRequest,
  decodeOpen,
  decodePages,
  encodeHash,
  encodeHeader,
  SNAPSHOT_OPERATIONS,
} from './snapshot-messages.ts'
import type { SnapshotSource } from './snapshot-source.ts'

const NOTHING = Buffer.alloc(0)

/** What other nodes may ask about snapshots. A malformed request is refused: CORRUPTION. */
export function snapshotHandlers(source: SnapshotSource): PeerHandlers {
  return new Map([
    [
      SNAPSHOT_OPERATIONS.open,
      {
        kind: 'call',
        handle: async ({ from, body }: PeerRequest) =>
          encodeHeader(await source.open(from, decodeOpen(body))),
      },
    ],
    [
      SNAPSHOT_OPERATIONS.pages,
      {
        kind: 'stream',
        handle: ({ from, body, signal }: PeerRequest) =>
          source.pages(from, decodePages(body), signal),
      },
    ],
    [
      SNAPSHOT_OPERATIONS.close,
      {
        kind: 'call',
        handle: async ({ from, body }: PeerRequest) => {
          await source.close(from, decodeId(body))
          return NOTHING
        },
      },
    ],
    [
      SNAPSHOT_OPERATIONS.contentHash,
      {
        kind: 'call',
        handle: async ({ body, signal }: PeerRequest) =>
          encodeHash(await source.hashes.hashAt(decodeHashRequest(body), signal)),
      },
    ],
  ])
}
