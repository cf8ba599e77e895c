// Embeds many items in one call, and finds those at fault when the provider refuses the call.

import type { EmbedOptions, EmbedPart, Embedder } from '../providers/contract/provider.ts'
import { isProviderError, unavailable } from '../providers/contract/provider-error.ts'

/** What became of one item. */
export type Embedded =
  | { readonly kind: 'vector'; readonly vector: Float32Array }
  | { readonly kind: 'refused'; readonly message: string }

type Item = readonly EmbedPart[]

const HARMLESS: Item = [{ kind: 'text', text: 'A sentence that any model can embed.' }]

/**
 * One answer for each item, in order. Items that are refused together are asked in halves, down to those at
 * fault. Rejects as `Embedder.embed` does for all but these; also with UNAVAILABLE if the provider refuses
 * any text, because then its configuration is at fault and no item is.
 */
export async function embedItems(
  embedder: Embedder,
  items: readonly Item[],
  signal: AbortSignal,
): Promise<readonly Embedded[]> {
  let isConfigurationGood = false

  async function embed(some: readonly Item[]): Promise<readonly Embedded[]> {
    const found = await answerOf(embedder, some, { signal, use: 'document' })
    if (found.kind === 'vectors') {
      return found.vectors.map((vector) => ({ kind: 'vector', vector }))
    }
    if (!isConfigurationGood && (await refusesAnything(embedder, { signal, use: 'document' }))) {
      throw unavailable(found.message)
    }
    isConfigurationGood = true
    if (some.length === 1) return [{ kind: 'refused', message: found.message }]
    const half = Math.ceil(some.length / 2)
    return [...(await embed(some.slice(0, half))), ...(await embed(some.slice(half)))]
  }

  return items.length === 0 ? [] : embed(items)
}

/**
 * Whether the provider refuses even a sentence that any model can embed: then its configuration is at fault, such as
 * a key. Rejects as `Embedder.embed` does for all but refusals.
 */
export async function refusesAnything(embedder: Embedder, options: EmbedOptions): Promise<boolean> {
  return (await answerOf(embedder, [HARMLESS], options)).kind === 'refused'
}

type Answer =
  | { readonly kind: 'vectors'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'refused'; readonly message: string }

async function answerOf(
  embedder: Embedder,
  items: readonly Item[],
  options: EmbedOptions,
): Promise<Answer> {
  try {
    return { kind: 'vectors', vectors: await embedder.embed(items, options) }
  } catch (error) {
    if (!isProviderError(error) || error.failure.kind !== 'refused') throw error
    return { kind: 'refused', message: error.message }
  }
}
