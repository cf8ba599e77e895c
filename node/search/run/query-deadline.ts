import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'

/** Aborts with the reason for the client: the time is up, or the client has left. */
export class QueryDeadline implements Disposable {
  /** Monotonic time. */
  readonly atMs: number
  readonly signal: AbortSignal
  readonly #timeoutMs: number
  readonly #end = new AbortController()
  readonly #waits = new Set<string>()
  readonly #client: AbortSignal
  readonly #stopTimer: () => void
  readonly #onGone = (): void => {
    this.#end.abort(new ServiceError('CANCELLED', 'the client went away'))
  }

  constructor(clock: Clock, timeoutMs: number, client: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.atMs = clock.monotonicMs() + timeoutMs
    this.signal = this.#end.signal
    this.#client = client
    if (client.aborted) this.#onGone()
    client.addEventListener('abort', this.#onGone, { once: true })
    this.#stopTimer = clock.after(timeoutMs, () => this.#end.abort(timeIsUp(timeoutMs)))
  }

  /** `what` is what the client is told if the time is up meanwhile: that something had not answered, and what to do. */
  async whileWaiting<Value>(what: string, answer: Promise<Value>): Promise<Value> {
    this.#waits.add(what)
    try {
      return await answer
    } finally {
      if (!this.signal.aborted) this.#waits.delete(what)
    }
  }

  /** A shard may notice first that the time is up, and knows nothing of what the client asked for. */
  explain(error: unknown): unknown {
    const isLate = isServiceError(error) && error.code === 'DEADLINE_EXCEEDED'
    const [wait] = this.#waits
    return isLate ? timeIsUp(this.#timeoutMs, wait) : error
  }

  [Symbol.dispose](): void {
    this.#stopTimer()
    this.#client.removeEventListener('abort', this.#onGone)
  }
}

function timeIsUp(timeoutMs: number, wait?: string): ServiceError {
  const why = wait === undefined ? '; narrow it down or give it a longer timeout' : `: ${wait}`
  return new ServiceError('DEADLINE_EXCEEDED', `the query took longer than ${timeoutMs} ms${why}`)
}
