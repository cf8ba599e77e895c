// What a worker has been asked and has not answered, and how long it has shown no sign of life.
//
// Invariants:
//   Q1  Each call is settled once: answered, refused, given up, or lost with the worker.
//   Q2  A call hangs if for the time of a call its worker gave no sign of life, or did not end it
//       after it was cancelled. A load has no steps between which it could give a sign: it hangs if
//       it takes longer.

import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import type { ToWorker } from './worker-protocol.ts'

type Call = Exclude<ToWorker, { readonly kind: 'cancel' | 'quit' }>
type WithoutNumber<Numbered> = Numbered extends Call ? Omit<Numbered, 'call'> : never
/** A call before it has its number. */
export type Asked = WithoutNumber<Call>

const HAS_STEPS: Readonly<Record<Asked['kind'], boolean>> = {
  load: false,
  unload: false,
  run: true,
  start: true,
}

interface PendingCall {
  readonly asked: Asked
  readonly resolve: (answer: never) => void
  readonly reject: (error: ServiceError) => void
  readonly emit: ((event: never) => void) | undefined
  /** Aborted when it is settled. */
  readonly settled: AbortController
  isCancelled: boolean
  /** When it was last known not to hang. */
  seenAtMs: number
}

export interface OpenedCall<Answer> {
  readonly call: number
  readonly promise: Promise<Answer>
  readonly settled: AbortSignal
}

export interface PendingCallsOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** A call hangs; it is still pending. */
  readonly onHang: (call: number, asked: Asked) => void
}

export class PendingCalls {
  readonly #options: PendingCallsOptions
  readonly #calls = new Map<number, PendingCall>()
  #nextCall = 1

  constructor(options: PendingCallsOptions) {
    this.#options = options
  }

  /** `emit` hears the events of a stream. */
  open<Answer>(asked: Asked, emit: ((event: never) => void) | undefined): OpenedCall<Answer> {
    const call = this.#nextCall++
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const settled = new AbortController()
    const life = { isCancelled: false, seenAtMs: this.#nowMs() }
    const pending = { asked, resolve, reject, emit, settled, ...life }
    this.#calls.set(call, pending)
    void this.#watch(call, pending)
    return { call, promise, settled: settled.signal }
  }

  emit(call: number, event: never): void {
    this.#calls.get(call)?.emit?.(event)
  }

  resolve(call: number, answer: never): void {
    this.#settle(call)?.resolve(answer)
  }

  reject(call: number, error: ServiceError): void {
    this.#settle(call)?.reject(error)
  }

  rejectAll(error: ServiceError): void {
    for (const call of this.#calls.keys()) this.reject(call, error)
  }

  /** Whether there is still something to cancel. From now on it has the time of one call to end. */
  cancel(call: number): boolean {
    const pending = this.#calls.get(call)
    if (pending === undefined) return false
    pending.isCancelled = true
    pending.seenAtMs = this.#nowMs()
    return true
  }

  noteAlive(): void {
    const nowMs = this.#nowMs()
    for (const pending of this.#calls.values()) {
      if (HAS_STEPS[pending.asked.kind] && !pending.isCancelled) pending.seenAtMs = nowMs
    }
  }

  #settle(call: number): PendingCall | undefined {
    const pending = this.#calls.get(call)
    this.#calls.delete(call)
    pending?.settled.abort()
    return pending
  }

  /** Resolves when the call is settled, or hangs. */
  async #watch(call: number, pending: PendingCall): Promise<void> {
    const { clock, timeoutMs, onHang } = this.#options
    for (;;) {
      const restMs = pending.seenAtMs + timeoutMs - this.#nowMs()
      if (restMs <= 0) return onHang(call, pending.asked)
      const isSettled = await clock.sleep(restMs, pending.settled.signal).then(
        () => false,
        () => true,
      )
      if (isSettled) return
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}
