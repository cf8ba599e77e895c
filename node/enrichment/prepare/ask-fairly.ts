import { isProviderError, unavailable } from '../../providers/contract/provider-error.ts'

/**
 * Asks a model about a source. A model that refuses it, but not something harmless, finds fault with the source, and
 * that rejects as INVALID_ARGUMENT; one that refuses both has a bad configuration, which the source cannot help:
 * that rejects with UNAVAILABLE. All else rejects as the model says.
 */
export async function askFairly<Answer>(
  ask: () => Promise<Answer>,
  askHarmless: () => Promise<unknown>,
): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (!isRefusal(error)) throw error
    try {
      await askHarmless()
    } catch (second) {
      if (isRefusal(second)) throw unavailable(second.message, second)
      throw second
    }
    throw error
  }
}

function isRefusal(error: unknown): error is Error {
  return isProviderError(error) && error.failure.kind === 'refused'
}
