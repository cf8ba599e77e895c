import type { Clock } from '../../../lib/clock.ts'
import type { SyncLevel } from '../../document/writes.ts'
import type { Shard } from '../../shard/shard.ts'

/** The write is durable anyway, so that an index which lags must not hold the answer up for ever. */
export const INDEX_WAIT_MAX_MS = 30_000

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
 * Waits until what was written to the shards is searchable, as far as the level asks for it. Never
 * fails: whoever cannot wait any longer has written all the same.
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
