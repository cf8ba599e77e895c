// The calls of a model worker (lib/worker-calls.ts), and how long each has shown no sign of life.
//
// Invariants:
//   Q1  Each call is settled once (WC1): answered, refused, given up, or lost with the worker.
//   Q2  A call hangs if for the time of a call its worker gave no sign of life, or did not end it
//       after it was cancelled. A load has no steps between which it could give a sign: it hangs if
//       it takes longer.

import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { WorkerCalls } from '../../lib/worker-calls.ts'
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
  readonly emit: ((event: never) => void) | undefined
  /** Aborted when it is settled. */
  readonly settled: AbortController
  isCancelled: boolean
  /** When it was last known not to hang. */
  seenAtMs: number
}

/** How a call reaches its worker, and who hears of it before its answer. */
export interface CallWays {
  readonly send: (call: number) => void
  /** Hears the events of a stream. */
  readonly emit?: ((event: never) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Tells the worker that nobody waits any more; it has the time of one call to end. */
  readonly cancel: (call: number) => void
}

export interface PendingCallsOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** A call hangs; it is still pending. */
  readonly onHang: (call: number, asked: Asked) => void
}

export class PendingCalls {
  readonly #options: PendingCallsOptions
  readonly #calls = new WorkerCalls<PendingCall>({ onSettled: ({ settled }) => settled.abort() })

  constructor(options: PendingCallsOptions) {
    this.#options = options
  }

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

  lose(error: ServiceError): void {
    this.#calls.lose(() => error)
  }

  noteAlive(): void {
    const nowMs = this.#nowMs()
    for (const pending of this.#calls.values()) {
      if (HAS_STEPS[pending.asked.kind] && !pending.isCancelled) pending.seenAtMs = nowMs
    }
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
