// Closed times of logs that rest. Such a log sends nothing of its own, so its followers would show an ever older
// time to readers that take any replica.

/** A log is asked again after a second, or later where more logs wait than one round asks. */
const ROUND_MS = 1000
/** A log costs two short messages of about 10 us each, so all together take less than 1 % of a core. */
const ASKED_PER_SECOND_MAX = 256

interface ClosingLog {
  /** See `ReplicatedLog.closeTime`. */
  closeTime(): void
}

/** Asks the logs one after the other, evenly over time. */
export class ClosingRound {
  readonly #logs: () => Iterable<ClosingLog>
  #left: ClosingLog[] = []
  #round = 0
  #owed = 0

  /** `logs` is asked for once in a round. */
  constructor(logs: () => Iterable<ClosingLog>) {
    this.#logs = logs
  }

  /** Has to be called a few times a second; `passedMs` is the time since the last call. */
  pass(passedMs: number): void {
    if (this.#left.length === 0) this.#begin()
    const perSecond = Math.min(ASKED_PER_SECOND_MAX, (this.#round * 1000) / ROUND_MS)
    this.#owed += (perSecond * passedMs) / 1000
    for (; this.#owed >= 1 && this.#left.length > 0; this.#owed -= 1) this.#left.pop()?.closeTime()
    this.#owed = Math.min(this.#owed, 1)
  }

  #begin(): void {
    this.#left = [...this.#logs()]
    this.#round = this.#left.length
  }
}
