// Why etcd has not done what the operator asked for.

import { EtcdFailure } from '../../lib/etcd/etcd-failure.ts'
import { ServiceError } from '../../lib/errors.ts'

/**
 * - `again`: nothing happened. Etcd may do it later, or its members are no longer as they were when it was decided.
 * - `unanswered`: nobody knows whether it happened.
 * - `refused`: nothing happened, and the same request will be refused again.
 *
 * After the first two the operator looks again and decides anew.
 */
export type RefusalKind = 'again' | 'unanswered' | 'refused'

/** The message is what etcd said, or the way to it: it has addresses in it and no secret. */
export class EtcdRefusal extends Error {
  override readonly name = 'EtcdRefusal'
  readonly kind: RefusalKind

  constructor(kind: RefusalKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/**
 * Etcd's own words (`rpctypes/error.go`, the same from 3.4 to 3.6): its status codes are those of other answers too, such as
 * of requests that timed out and may have been carried out.
 */
const PASSING: readonly string[] = [
  // A change of members waits until all voters have been connected for five seconds.
  'unhealthy cluster',
  'not enough started members',
  'too many learner members',
  'learner member which is in sync with leader',
  'too many requests',
  'no leader',
  // The members have changed since the look.
  'member not found',
  'bad leader transferee',
  'not supported for learner',
]

/** The refusal behind a failed call. Every other error is a defect of ours, and thrown. */
export function refusalOf(error: unknown): EtcdRefusal {
  const options = { cause: error }
  if (error instanceof EtcdFailure) {
    return new EtcdRefusal(kindOf(error), error.message, options)
  }
  // The member has done something, and its answer is not a message.
  if (error instanceof ServiceError && error.code === 'CORRUPTION') {
    return new EtcdRefusal('unanswered', error.message, options)
  }
  throw error
}

function kindOf({ kind, message }: EtcdFailure): RefusalKind {
  if (PASSING.some((words) => message.includes(words))) return 'again'
  return kind === 'unanswered' ? 'unanswered' : 'refused'
}
