// The calls that a worker has been sent and has not answered.
//
//   call ──answer──► resolved
//    │ └───refuse──► rejected
//    └─────lose────► rejected, with all others: the worker ended
//
// Invariants:
//   WC1  Each call is settled once; what comes for it later is passed over.
//   WC2  A call's signal is listened to until the call is settled, and no longer.

import { ServiceError, type ErrorCode } from './errors.ts'

/** A ServiceError as a message carries it: a structured clone keeps no class. */
export interface SentError {
  readonly code: ErrorCode
  readonly message: string
}

export function sentError({ code, message }: ServiceError): SentError {
  return { code, message }
}

export function receivedError({ code, message }: SentError): ServiceError {
  return new ServiceError(code, message)
}

/** How a call is given up. Its owner refuses it at once, or waits for what the worker answers. */
export interface CallAbort {
  readonly signal: AbortSignal
  /** Called once at most: after the call was sent, and before it is settled. */
  readonly onAbort: (call: number) => void
}

export interface WorkerCallsOptions<Sent> {
  readonly onSettled?: (sent: Sent) => void
}

interface Pending<Sent> {
  readonly sent: Sent
  /** The answer has the type that the call's owner named. */
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
  forgetSignal?: () => void
}

/** `Sent` is what the owner wants to know about a call later. */
export class WorkerCalls<Sent> {
  readonly #onSettled: ((sent: Sent) => void) | undefined
  readonly #pending = new Map<number, Pending<Sent>>()
  #nextCall = 1

  constructor({ onSettled }: WorkerCallsOptions<Sent> = {}) {
    this.#onSettled = onSettled
  }

  get size(): number {
    return this.#pending.size
  }

  /** Numbers a call and has it sent: the answer repeats the number. Rejects with what `send` throws. */
  call<Answer>(sent: Sent, send: (call: number) => void, abort?: CallAbort): Promise<Answer> {
    const call = this.#nextCall++
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const pending: Pending<Sent> = { sent, resolve, reject }
    this.#pending.set(call, pending)
    try {
      send(call)
      if (abort !== undefined) listen(pending, call, abort)
    } catch (error) {
      this.refuse(call, error)
    }
    return promise
  }

  /** Undefined once the call is settled. */
  get(call: number): Sent | undefined {
    return this.#pending.get(call)?.sent
  }

  values(): Iterable<Sent> {
    return this.#pending.values().map(({ sent }) => sent)
  }

  /** Passes over a call that is settled. */
  answer(call: number, answer: never): void {
    this.#take(call)?.resolve(answer)
  }

  /** Passes over a call that is settled. */
  refuse(call: number, error: unknown): void {
    this.#take(call)?.reject(error)
  }

  /** The worker ended. Calls that are made meanwhile are for the next worker, and stay. */
  lose(errorOf: (sent: Sent, call: number) => unknown): void {
    for (const [call, { sent }] of this.#pending) this.refuse(call, errorOf(sent, call))
  }

  #take(call: number): Pending<Sent> | undefined {
    const pending = this.#pending.get(call)
    if (pending === undefined) return undefined
    this.#pending.delete(call)
    pending.forgetSignal?.()
    this.#onSettled?.(pending.sent)
    return pending
  }
}

function listen(pending: Pending<unknown>, call: number, { signal, onAbort }: CallAbort): void {
  const listener = (): void => onAbort(call)
  if (signal.aborted) return listener()
  signal.addEventListener('abort', listener, { once: true })
  pending.forgetSignal = () => signal.removeEventListener('abort', listener)
}
