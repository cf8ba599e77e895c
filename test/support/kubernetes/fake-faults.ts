// What may be wrong with a fake API server.

import { apiErrorOf, unansweredError } from '../../../operator/runtime/api/api-error.ts'

export type Verb = 'list' | 'watch' | 'get' | 'create' | 'replace' | 'apply' | 'patch' | 'delete'

export interface FakeFault {
  readonly verbs: readonly Verb[]
  /** How many requests meet it. */
  readonly times: number
  /** 0: the answer never comes. */
  readonly status: number
  readonly reason?: string
  readonly retryAfterMs?: number
  /** What the refusal says. */
  readonly message?: string
  /** Whether the request was carried out before its answer was lost. */
  readonly isDone?: boolean
}

/** The faults that are to come, each for so many requests. */
export class FakeFaults {
  #pending: { readonly fault: FakeFault; left: number }[] = []

  add(fault: FakeFault): void {
    this.#pending.push({ fault, left: fault.times })
  }

  clear(): void {
    this.#pending = []
  }

  /** Takes the fault that a request of the verb meets, if any. */
  take(verb: Verb): FakeFault | undefined {
    const found = this.#pending.find(({ fault, left }) => left > 0 && fault.verbs.includes(verb))
    if (found !== undefined) found.left -= 1
    return found?.fault
  }
}

export function errorOfFault({ status, reason = '', retryAfterMs, message }: FakeFault): Error {
  if (status === 0) return unansweredError(new Error('connection reset'))
  return apiErrorOf(status, { reason, message: message ?? `planted ${status}` }, { retryAfterMs })
}
