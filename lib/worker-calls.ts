// The calls that were sent to a worker and are not answered.
//
//   call ──answer──► resolved
//    │ └───refuse──► rejected
//    └─────lose────► rejected, with all others: the worker ended
//
// Invariants:
//   WC1  Each call is settled once. A later answer or refusal of it is ignored.
//   WC2  A call listens to its signal until it is settled, and no longer.

import { ServiceError, type ErrorCode } from './errors.ts'

/** A ServiceError as a message carries it, because a structured clone loses the class. */
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

/** How to abort a call. Its owner refuses it at once, or waits for the worker's answer. */
export interface CallAbort {
  readonly signal: AbortSignal
  /** Called at most once: after the call was sent, and before it is settled. */
  readonly onAbort: (call: number) => void
}

/** `onSettled` is called with each call that is settled, before its promise. */
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

/** The calls of one worker. `Sent` is what the owner remembers of a call. */
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

  /**
   * Numbers a call and sends it. The answer repeats the number. Rejects with the error that `send`
   * throws.
   */
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

  /** Resolves a call. Ignores a call that is settled. */
  answer(call: number, answer: never): void {
    this.#take(call)?.resolve(answer)
  }

  /** Rejects a call. Ignores a call that is settled. */
  refuse(call: number, error: unknown): void {
    this.#take(call)?.reject(error)
  }

  /**
   * Rejects all calls, because the worker ended. Calls that are made meanwhile stay: they are for
   * the next worker.
   */
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
