// Reads the files that a source names. Each part becomes a text, or a medium that a model is shown.

import { isServiceError } from '../../../lib/errors.ts'
import type { MediaHolding } from '../../media/media-budget.ts'
import type { MediaResolver } from '../../media/media-resolver.ts'
import type { PromptPart } from '../../providers/contract/provider.ts'
import { ProviderError } from '../../providers/contract/provider-error.ts'
import { AwayError } from './away-error.ts'
import type { SourcePart } from './source-preparer.ts'

/**
 * The parts in their order. What was read stays charged to the holding. Rejects with INVALID_ARGUMENT for a file
 * that cannot be read, with an AwayError for one that may be read later, with a rate-limited ProviderError where the node has no room for it now, and with the
 * holding's signal's reason.
 */
export async function resolveParts(
  parts: readonly SourcePart[],
  resolver: Pick<MediaResolver, 'resolve'>,
  holding: MediaHolding,
): Promise<readonly PromptPart[]> {
  const resolved: PromptPart[] = []
  // One after the other: a holding grows by one file at a time.
  for (const part of parts) {
    if (part.kind === 'text') resolved.push(part)
    else resolved.push(await resolve(part, resolver, holding))
  }
  return resolved
}

async function resolve(
  part: Extract<SourcePart, { kind: 'media' }>,
  resolver: Pick<MediaResolver, 'resolve'>,
  holding: MediaHolding,
): Promise<PromptPart> {
  try {
    const content = await resolver.resolve(part, holding)
    // A file's text has lines of its own among those of the document.
    if (content.kind === 'text') return { kind: 'text', text: `\n${content.text.trim()}\n` }
    return { kind: content.kind, dataUri: content.dataUri }
  } catch (error) {
    holding.signal.throwIfAborted()
    if (!isServiceError(error)) throw error
    if (error.code === 'UNAVAILABLE') throw new AwayError('file', error.message, error)
    if (error.code !== 'OVERLOADED') throw error
    throw new ProviderError({ kind: 'rate_limited' }, error.message, { cause: error })
  }
}
