import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import type { Embedder } from '../contract/provider.ts'
import { unavailable } from '../contract/provider-error.ts'

const PROBE_TIMEOUT_MS = 30_000
const PROBE_TEXT = 'How many numbers does this vector have?'

/**
 * The dimension of an embedder's vectors, found by embedding a short text. Rejects as `embed` does, and with
 * UNAVAILABLE after `timeoutMs`.
 */
export async function probeDimension(
  embedder: Embedder,
  {
    signal,
    clock,
    timeoutMs = PROBE_TIMEOUT_MS,
  }: { readonly signal: AbortSignal; readonly clock: Clock; readonly timeoutMs?: number },
): Promise<number> {
  const late = new AbortController()
  const options = { signal: AbortSignal.any([signal, late.signal]), use: 'document' as const }
  const message = `${embedder.name}: it embedded no text within ${timeoutMs} ms`
  const [vector] = await prodWhenLate(
    embedder.embed([[{ kind: 'text', text: PROBE_TEXT }]], options),
    { clock, ms: timeoutMs, onLate: () => late.abort(unavailable(message)) },
  )
  if (vector === undefined) throw unavailable(`${embedder.name}: it answered no vector`)
  return vector.length
}
