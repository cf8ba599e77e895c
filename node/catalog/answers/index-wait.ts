import type { Clock } from '../../../lib/clock.ts'
import type { SyncLevel } from '../../document/writes.ts'
import type { Shard } from '../../shard/shard.ts'

/** The write is durable already, so its answer waits for a slow index no longer than this. */
const INDEX_WAIT_MAX_MS = 30_000

const WAITS: Record<SyncLevel, boolean> = {
  propose: false,
  write: false,
  full_text: true,
  enrichments: true,
  aknn: true,
  full_index: true,
}

export function waitsForIndexes({ syncLevel }: { readonly syncLevel: SyncLevel }): boolean {
  return WAITS[syncLevel]
}

/**
 * Waits until searches of the shards show every write before the call, if the sync level asks for it.
 * It never rejects, because the write has succeeded: after the limit or an abort it just resolves.
 */
export async function waitForIndexes(
  clock: Clock,
  shards: readonly Shard[],
  { syncLevel, signal }: { readonly syncLevel: SyncLevel; readonly signal?: AbortSignal },
): Promise<void> {
  if (!waitsForIndexes({ syncLevel })) return
  const over = new AbortController()
  const enough = clock.sleep(INDEX_WAIT_MAX_MS, over.signal).catch(() => undefined)
  const waiting = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  const indexed = shards.map((shard) => shard.waitForIndexes({ signal: waiting }))
  await Promise.race([Promise.allSettled(indexed), enough])
  over.abort()
}
