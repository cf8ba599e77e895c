// The calls that a worker has not answered, and the time since its last sign of life.
//
// Invariants:
//   Q1  Each call is settled once: answered, refused, given up, or lost with the worker.
//   Q2  A call hangs when `timeoutMs` passes without a sign of life, or after its cancellation. A load
//       cannot give signs, because it has no steps: it hangs when it takes longer than `timeoutMs`.

import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import type { ToWorker } from './worker-protocol.ts'

type Call = Exclude<ToWorker, { readonly kind: 'cancel' | 'quit' }>
type WithoutNumber<Numbered> = Numbered extends Call ? Omit<Numbered, 'call'> : never
/** A call before it has a number. */
export type Asked = WithoutNumber<Call>

/** Whether a call has steps, between which the worker can say that it is alive. */
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
  /** Aborted when the call is settled. */
  readonly settled: AbortController
  isCancelled: boolean
  /** The time of the last sign that the call does not hang. */
  seenAtMs: number
}

/** A call with its number. `settled` aborts when the call is settled in any way. */
export interface OpenedCall<Answer> {
  readonly call: number
  readonly promise: Promise<Answer>
  readonly settled: AbortSignal
}

/** The clock, and the limit after which a call hangs (Q2). */
export interface PendingCallsOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Called for a call that hangs. The call stays pending until the listener rejects it. */
  readonly onHang: (call: number, asked: Asked) => void
}

/** The open calls of one worker. Answers to calls that have been settled are ignored. */
export class PendingCalls {
  readonly #options: PendingCallsOptions
  readonly #calls = new Map<number, PendingCall>()
  #nextCall = 1

  constructor(options: PendingCallsOptions) {
    this.#options = options
  }

  /** Opens a call. `emit` receives the events of a stream. */
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

  /**
   * Marks a call as cancelled: it now has `timeoutMs` to end. False: the call was settled before.
   */
  cancel(call: number): boolean {
    const pending = this.#calls.get(call)
    if (pending === undefined) return false
    pending.isCancelled = true
    pending.seenAtMs = this.#nowMs()
    return true
  }

  /** Notes a sign of life for all calls with steps that were not cancelled. */
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

  /** Resolves when the call is settled or hangs. */
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
