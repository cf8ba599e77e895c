/** This many units take about a millisecond of decoding and scoring. */
const UNITS_PER_STEP = 32_768

/**
 * Counts the cost of a search and reports when a pause is due. A unit is about one posting, decoded
 * and scored. The runner of the search checks deadlines and cancellation in the pauses.
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

  /** Counts units. True means that a pause is due. */
  spend(units: number): boolean {
    this.#left -= units
    return this.#left <= 0
  }

  /** For the pause itself: `yield poll.renewed()`. */
  renewed(): undefined {
    this.#left = this.#unitsPerStep
  }
}
