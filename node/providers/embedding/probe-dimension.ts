import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import type { Embedder } from '../contract/provider.ts'
import { unavailable } from '../contract/provider-error.ts'

const PROBE_TIMEOUT_MS = 30_000
const PROBE_TEXT = 'How many numbers does this vector have?'

/**
 * The dimension of an embedder's vectors, found by embedding a short text. Rejects as `embed` does, and with
 * UNAVAILABLE after 30 seconds.
 */
export async function probeDimension(
  embedder: Embedder,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<number> {
  const late = new AbortController()
  const options = { signal: AbortSignal.any([signal, late.signal]), use: 'document' as const }
  const message = `${embedder.name}: it embedded no text within ${PROBE_TIMEOUT_MS} ms`
  const [vector] = await prodWhenLate(
    embedder.embed([[{ kind: 'text', text: PROBE_TEXT }]], options),
    { clock, ms: PROBE_TIMEOUT_MS, onLate: () => late.abort(unavailable(message)) },
  )
  if (vector === undefined) throw unavailable(`${embedder.name}: it answered no vector`)
  return vector.length
}
