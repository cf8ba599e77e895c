// How calls of etcd fail, and what that means for the caller.

import { status } from '@grpc/grpc-js'
import { ServiceError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'

/**
 * - `unanswered`: nobody knows whether the call took effect. Another member may answer.
 * - `stale-token`: nothing happened, and a new token helps.
 * - `compacted`: the revision that was asked for is gone.
 * - `lease-gone`: nothing happened, because etcd does not have the lease.
 * - `refused`: nothing happened, and no other member would do it.
 */
export type FailureKind = 'unanswered' | 'stale-token' | 'compacted' | 'lease-gone' | 'refused'

/** One attempt of a call that failed. */
export class EtcdFailure extends Error {
  override readonly name = 'EtcdFailure'
  readonly kind: FailureKind
  readonly status: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = code
    this.kind = kindOf(code, message)
  }
}

/** A failure of ours: nobody was asked, or nobody was waited for. */
export function unanswered(message: string): EtcdFailure {
  return new EtcdFailure(status.CANCELLED, message)
}

export function isUnanswered(error: unknown): boolean {
  return error instanceof EtcdFailure && error.kind === 'unanswered'
}

const KINDS: Readonly<Record<number, FailureKind>> = {
  [status.INVALID_ARGUMENT]: 'refused',
  [status.NOT_FOUND]: 'lease-gone',
  [status.ALREADY_EXISTS]: 'refused',
  [status.PERMISSION_DENIED]: 'refused',
  [status.FAILED_PRECONDITION]: 'refused',
  [status.OUT_OF_RANGE]: 'compacted',
  [status.UNIMPLEMENTED]: 'refused',
  [status.DATA_LOSS]: 'refused',
  [status.UNAUTHENTICATED]: 'stale-token',
}

/** etcd has the same status for a token of an earlier set of users as for a wrong request. */
const OLD_USERS = /revision in header is old|auth(?:entication)? (?:store )?.*is old/
const NO_SPACE = /database space exceeded/

function kindOf(code: number, message: string): FailureKind {
  if (OLD_USERS.test(message)) return 'stale-token'
  if (NO_SPACE.test(message)) return 'refused'
  return KINDS[code] ?? 'unanswered'
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  [status.INVALID_ARGUMENT]: 'INVALID_ARGUMENT',
  [status.NOT_FOUND]: 'NOT_FOUND',
  [status.PERMISSION_DENIED]: 'FORBIDDEN',
  [status.UNAUTHENTICATED]: 'FORBIDDEN',
  [status.RESOURCE_EXHAUSTED]: 'DISK_FULL',
  [status.DATA_LOSS]: 'CORRUPTION',
}
/** etcd calls a wrong or missing user an invalid argument. */
const WRONG_USER = /invalid user ID or password|user name is empty/

/** The error of the contract for a call that no member has answered or that etcd refuses. */
export function errorOfFailure(failure: EtcdFailure): ServiceError {
  const { kind, message, status: code } = failure
  const options = { cause: failure }
  if (kind === 'unanswered') {
    return new ServiceError('UNAVAILABLE', `etcd does not answer: ${message}`, options)
  }
  const known = WRONG_USER.test(message) ? 'FORBIDDEN' : (CODES[code] ?? 'UNAVAILABLE')
  return new ServiceError(known, `etcd refuses: ${message}`, options)
}
