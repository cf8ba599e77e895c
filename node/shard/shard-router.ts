import { ServiceError } from '../../lib/errors.ts'
import type { KeyInterval, ShardAddress } from './command/command.ts'
import type { Shard } from './shard.ts'

/** Why there is no shard to ask. */
export type NoRoute =
  /**
   * The table does not exist any more, and never will again: an authoritative read said so. Before it
   * went, every transaction that had a record there told its outcome to all of its participants.
   */
  | { readonly kind: 'gone' }
  /** The owner of the key is unknown now. The table and its transactions may well exist. */
  | { readonly kind: 'unknown'; readonly reason: string }

export type Route = { readonly kind: 'shard'; readonly shard: Shard } | NoRoute

/** Every shard that owns keys of an interval, by ascending keys: at least one. */
export type Routes = { readonly kind: 'shards'; readonly shards: readonly Shard[] } | NoRoute

/**
 * Finds the shards that own keys at the moment.
 *
 * Contract:
 * - `gone` is confirmed. A map that may be stale never answers it: it answers `unknown`.
 * - A shard that is found may have lost the key since; the shard itself refuses then.
 * - It never rejects: a control plane that does not answer is `unknown`, with the reason.
 */
export interface ShardRouter {
  shardAt(address: ShardAddress): Promise<Route>
  /** All shards that own keys of the interval. If one of them cannot be found, it is `unknown`. */
  shardsMeeting(interval: KeyInterval): Promise<Routes>
}

/** UNAVAILABLE, for a caller that cannot continue without the shard of an `unknown` route. */
export function unknownRoute(
  { tableId }: Pick<ShardAddress, 'tableId'>,
  reason: string,
): ServiceError {
  const message = `a shard of the table with id ${tableId} cannot be found now (${reason}); try again`
  return new ServiceError('UNAVAILABLE', message)
}
