// The calls of a model worker (lib/worker-calls.ts), and the time since its last sign of life.
//
// Invariants:
//   Q1  Each call is settled once (WC1): answered, refused, given up, or lost with the worker.
//   Q2  A call hangs when `timeoutMs` passes without a sign of life, or after its cancellation. A load
//       cannot give signs, because it has no steps: it hangs when it takes longer than `timeoutMs`.

import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { WorkerCalls } from '../../lib/worker-calls.ts'
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
  readonly emit: ((event: never) => void) | undefined
  /** Aborted when the call is settled. */
  readonly settled: AbortController
  isCancelled: boolean
  /** The time of the last sign that the call does not hang. */
  seenAtMs: number
}

/** How a call reaches its worker, and who receives its events. */
export interface CallWays {
  /** Sends the call with its number. */
  readonly send: (call: number) => void
  /** Receives the events of a stream. */
  readonly emit?: ((event: never) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Called when the signal aborts. It tells the worker, which has `timeoutMs` to end the call. */
  readonly cancel: (call: number) => void
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
  readonly #calls = new WorkerCalls<PendingCall>({ onSettled: ({ settled }) => settled.abort() })

  constructor(options: PendingCallsOptions) {
    this.#options = options
  }

  /** Opens a call. Resolves to its answer; rejects with its refusal or when the worker is lost. */
  call<Answer>(asked: Asked, { send, emit, signal, cancel }: CallWays): Promise<Answer> {
    const life = { isCancelled: false, seenAtMs: this.#nowMs() }
    const pending: PendingCall = { asked, emit, settled: new AbortController(), ...life }
    const sendWatched = (call: number): void => {
      send(call)
      void this.#watch(call, pending)
    }
    const onAbort = (call: number): void => {
      pending.isCancelled = true
      pending.seenAtMs = this.#nowMs()
      cancel(call)
    }
    return this.#calls.call<Answer>(pending, sendWatched, signal && { signal, onAbort })
  }

  emit(call: number, event: never): void {
    this.#calls.get(call)?.emit?.(event)
  }

  answer(call: number, answer: never): void {
    this.#calls.answer(call, answer)
  }

  refuse(call: number, error: ServiceError): void {
    this.#calls.refuse(call, error)
  }

  /** Rejects all open calls, because the worker has ended. */
  lose(error: ServiceError): void {
    this.#calls.lose(() => error)
  }

  /** Notes a sign of life for all calls with steps that were not cancelled. */
  noteAlive(): void {
    const nowMs = this.#nowMs()
    for (const pending of this.#calls.values()) {
      if (HAS_STEPS[pending.asked.kind] && !pending.isCancelled) pending.seenAtMs = nowMs
    }
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
