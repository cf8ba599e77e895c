/** Throws to stop the search: a deadline has passed or nobody waits for the answer. */
export type Interrupt = () => void

const POSTINGS_PER_POLL = 8192

/** Counts postings and asks every few thousand whether to go on. */
export class Poll {
  readonly #interrupt: Interrupt
  #left = POSTINGS_PER_POLL

  constructor(interrupt: Interrupt) {
    this.#interrupt = interrupt
  }

  spend(postings: number): void {
    this.#left -= postings
    if (this.#left > 0) return
    this.#left = POSTINGS_PER_POLL
    this.#interrupt()
  }
}
