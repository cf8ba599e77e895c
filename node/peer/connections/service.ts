import type { Log } from '../../../lib/log.ts'
import type { Deadlines } from '../deadlines.ts'
import type { PeerHandlers } from '../peer.ts'

/** What serving needs of its node. */
export interface Service {
  readonly handlers: PeerHandlers
  readonly deadlines: Deadlines
  readonly largeBytesMax: number
  readonly log: Log
  nowMs(): number
  /** An error of a handler that is a fault of ours. */
  onFault(error: unknown): void
}
