// Who sends a request, and what they may do.

import type { IncomingMessage } from 'node:http'
import type { ServiceError } from '../lib/errors.ts'
import type { Operation } from './contract.ts'

/** The caller of a request, as its handler is told. */
export interface Principal {
  readonly kind: 'anonymous'
}

/** Nobody has to say who they are yet, so this one has all rights. */
export const ANONYMOUS: Principal = Object.freeze({ kind: 'anonymous' })

/**
 * Decides who may call what. Contract:
 * - Both methods are called once for each request that reaches an operation, `identify` first, and both
 *   before a byte of the body is read or waited for.
 * - `authorize` answers the refusal (FORBIDDEN), or undefined if the operation is allowed. `params` are
 *   those of the path, decoded. What else a request touches stands in its body (the tables of a
 *   transaction, the table of a global query); its handler knows the principal and checks that itself.
 * - Neither waits: every request passes here.
 */
export interface AccessPolicy {
  identify(request: IncomingMessage): Principal
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
