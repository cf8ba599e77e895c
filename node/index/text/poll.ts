/** About a millisecond of decoding and scoring, a quarter of one of anything slower. */
const UNITS_PER_STEP = 32_768

/**
 * Counts what a search costs, in units of about one posting decoded and scored, and says when it is
 * time for a pause. Whoever drives the search polls deadlines and cancellation in the pauses.
 */
export class Poll {
  readonly #unitsPerStep: number
  #left: number

  constructor(unitsPerStep = UNITS_PER_STEP) {
    this.#unitsPerStep = unitsPerStep
    this.#left = unitsPerStep
  }

  /** Whether a pause is due. */
  get isDue(): boolean {
    return this.#left <= 0
  }

  /** Answers whether a pause is due. */
  spend(units: number): boolean {
    this.#left -= units
    return this.#left <= 0
  }

  /** For the pause itself: `yield poll.renewed()`. */
  renewed(): undefined {
    this.#left = this.#unitsPerStep
  }
}
