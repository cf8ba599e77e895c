import { ServiceError } from '../../../lib/errors.ts'
import type { ErrorCode } from '../../../lib/errors.ts'

/** Whether a failed call may be made again. */
export type ProviderFailure =
  /** Later and slower. `retryAfterMs` is what the provider asks for. */
  | { readonly kind: 'rate_limited'; readonly retryAfterMs?: number }
  /** Later: the provider was not reached, or it answered nonsense. */
  | { readonly kind: 'unavailable' }
  /** Never with this input and configuration: a bad key, an unknown model, a text that is too long. */
  | { readonly kind: 'refused' }

const CODE_BY_KIND: Readonly<Record<ProviderFailure['kind'], ErrorCode>> = {
  rate_limited: 'OVERLOADED',
  unavailable: 'UNAVAILABLE',
  refused: 'INVALID_ARGUMENT',
}

/** A call of a provider that failed. The message begins with the provider's name and holds no secret. */
export class ProviderError extends ServiceError {
  readonly failure: ProviderFailure

  constructor(failure: ProviderFailure, message: string, options?: ErrorOptions) {
    super(CODE_BY_KIND[failure.kind], message, options)
    this.failure = failure
  }
}

export function isProviderError(error: unknown): error is ProviderError {
  return error instanceof ProviderError
}

export function unavailable(message: string, cause?: unknown): ProviderError {
  return new ProviderError({ kind: 'unavailable' }, message, { cause })
}

export function refused(message: string): ProviderError {
  return new ProviderError({ kind: 'refused' }, message)
}
