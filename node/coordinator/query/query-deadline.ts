import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'

/** A reason given spares the error, with its stack, that `abort` would make for each query. */
const DONE = 'the query is done'

/** Aborts with the reason that the client is told: the time is up, or it has gone itself. */
export class QueryDeadline implements Disposable {
  /** Monotonic time. */
  readonly atMs: number
  readonly signal: AbortSignal
  readonly #timeoutMs: number
  readonly #end = new AbortController()
  readonly #done = new AbortController()
  readonly #waits = new Set<string>()

  constructor(clock: Clock, timeoutMs: number, client: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.atMs = clock.monotonicMs() + timeoutMs
    this.signal = this.#end.signal
    const cancel = (): void =>
      this.#end.abort(new ServiceError('CANCELLED', 'the client went away'))
    if (client.aborted) cancel()
    client.addEventListener('abort', cancel, { once: true, signal: this.#done.signal })
    clock.sleep(timeoutMs, this.#done.signal).then(
      () => this.#end.abort(timeIsUp(timeoutMs)),
      () => undefined, // answered in time
    )
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
    this.#done.abort(DONE)
  }
}

function timeIsUp(timeoutMs: number, wait?: string): ServiceError {
  const why = wait === undefined ? '; narrow it down or give it a longer timeout' : `: ${wait}`
  return new ServiceError('DEADLINE_EXCEEDED', `the query took longer than ${timeoutMs} ms${why}`)
}
