// The caller of a request, and the policy that allows its operations.

import type { ServiceError } from '../lib/errors.ts'
import type { Call } from './call.ts'
import type { Operation } from './contract.ts'

/** The caller of a request, as its handler is told. */
export interface Principal {
  readonly kind: 'anonymous'
}

/** The server does not authenticate callers yet: every caller is this principal, which has all rights. */
export const ANONYMOUS: Principal = Object.freeze({ kind: 'anonymous' })

/**
 * Decides who may call what. Contract:
 * - Both methods are called once for each request that reaches an operation, `identify` first, and both
 *   before a byte of the body is read or waited for.
 * - `authorize` answers the refusal (FORBIDDEN), or undefined if the operation is allowed. `params` are
 *   those of the path, decoded. A body may name further tables (those of a transaction or of a global
 *   query), which nothing checks: the only principal may use all of them.
 * - Both answer at once, without a promise, because every request calls them.
 */
export interface AccessPolicy {
  identify(call: Pick<Call, 'method' | 'url' | 'headers'>): Principal
  authorize(
    principal: Principal,
    operation: Operation,
    params: Readonly<Record<string, string>>,
  ): ServiceError | undefined
}

export const ALLOW_ALL: AccessPolicy = {
  identify: () => ANONYMOUS,
  authorize: () => undefined,
}
