import type { InSyncChange, NodeId } from './configuration.ts'
import type { EntryInfo } from './log-index.ts'
import type { AppendOrder, ReplicationMessage } from './messages.ts'

/**
 * What the shell has to do, in this order. Nothing of it has happened when the core answers; what has
 * been done comes back as an input.
 */
export type Effect =
  /** Remove the entries after `truncateAfter`, if given, then write these; answer with `durable`. */
  | {
      readonly kind: 'append'
      readonly entries: readonly EntryInfo[]
      readonly truncateAfter: number | undefined
    }
  /** Put the epoch on disk, then answer with `promised`. */
  | { readonly kind: 'promise'; readonly epoch: number }
  | { readonly kind: 'send'; readonly to: NodeId; readonly message: ReplicationMessage }
  | { readonly kind: 'replicate'; readonly order: AppendOrder }
  /** The follower needs entries that the log no longer has: bring it a snapshot. */
  | { readonly kind: 'snapshot'; readonly to: NodeId }
  /** Entries up to here will never go away: apply them, answer those who wait for them. */
  | { readonly kind: 'commit'; readonly through: number }
  /** Propose the first entry of this epoch now. */
  | { readonly kind: 'start_epoch'; readonly epoch: number }
  /** The first entry of the epoch is committed: reads and writes may be served. */
  | { readonly kind: 'serve'; readonly epoch: number }
  /** What was proposed and is not committed: `ReplicaCore.fateOf` says later what became of it. */
  | { readonly kind: 'stop_leading'; readonly epoch: number }
  /** Write it to the control plane, then answer with the configuration that the control plane has. */
  | { readonly kind: 'change'; readonly change: InSyncChange }
  /** This read sees every write that was acknowledged before it was asked for. */
  | { readonly kind: 'read'; readonly token: number }
  | { readonly kind: 'refuse_read'; readonly token: number }
  /** Read the configuration from the control plane, linearizably; answer with `confirmed`. */
  | { readonly kind: 'confirm'; readonly token: number }
  /** What this replica has contradicts its leader's log: raise an alarm. Nothing of it may be removed. */
  | { readonly kind: 'refuse'; readonly reason: string }
  /** This leader lacks what was committed, as another replica proves: raise an alarm, serve nobody. */
  | { readonly kind: 'contradicted'; readonly reason: string }
