import { ServiceError } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { KvSnapshot, KvStore } from '../../storage/kv-store.ts'
import type { LogPosition } from '../core/log-index.ts'

/** An entry that is applied in several writes takes far less, and so does a follower that keeps up. */
const WAIT_MS = 10
const WAITS_MAX = 500

/** Reads how far a store has been applied; undefined while it has a part of the next entry. */
export type ReadPosition = (store: Pick<KvSnapshot, 'get'>) => LogPosition | undefined

/**
 * What a snapshot takes from a replica, which may lead or follow.
 *
 * Contract:
 * - The store has committed entries alone.
 * - `linkIndexes` makes one directory for each index, in a directory that exists and is empty, with links
 *   to the files of a checkpoint that the store has applied. It leaves out indexes that have none.
 */
export interface SnapshotReplica {
  readonly store: Pick<KvStore, 'snapshot' | 'approximateBytes'>
  readonly readPosition: ReadPosition
  linkIndexes(directory: string): Promise<void>
}

/** A view of a store at the end of a log entry. Dispose it. */
export interface StoreView {
  readonly snapshot: KvSnapshot
  readonly position: LogPosition
}

/** Waits while the store has a part of an entry. UNAVAILABLE if that takes seconds. */
export function viewStore(
  replica: ViewedReplica,
  clock: Clock,
  signal?: AbortSignal,
): Promise<StoreView> {
  return viewWhen(replica, () => true, { clock, signal })
}

/** Waits until the store is at this entry. UNAVAILABLE if it is beyond, or does not get there in seconds. */
export function viewStoreAt(
  replica: ViewedReplica,
  sequence: number,
  waits: Waits,
): Promise<StoreView> {
  const isThere = (position: LogPosition): boolean => {
    if (position.sequence <= sequence) return position.sequence === sequence
    const message = `the replica has applied log entry ${position.sequence}, beyond ${sequence}`
    throw new ServiceError('UNAVAILABLE', message)
  }
  return viewWhen(replica, isThere, waits)
}

type ViewedReplica = Pick<SnapshotReplica, 'store' | 'readPosition'>

interface Waits {
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

async function viewWhen(
  { store, readPosition }: ViewedReplica,
  isWanted: (position: LogPosition) => boolean,
  { clock, signal }: Waits,
): Promise<StoreView> {
  for (let waits = 0; waits < WAITS_MAX; waits++) {
    const snapshot = store.snapshot()
    try {
      const position = readPosition(snapshot)
      if (position !== undefined && isWanted(position)) return { snapshot, position }
    } catch (error) {
      await snapshot[Symbol.asyncDispose]()
      throw error
    }
    await snapshot[Symbol.asyncDispose]()
    await clock.sleep(WAIT_MS, signal)
  }
  throw new ServiceError(
    'UNAVAILABLE',
    'the replica is not at a log entry to look at; try again later',
  )
}
