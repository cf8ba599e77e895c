// What one rendering may still use. Everything is charged before it is done or as it is done, so that
// no template and no document can make a rendering longer or larger than its limits.

import { StepMeter } from '../../lib/sliced.ts'
import { renderError } from './template-error.ts'

/** The limits of one rendering. */
export interface RenderLimits {
  /** The bytes of UTF-8 in all text parts together, and in each text that a helper makes. */
  readonly outputBytesMax: number
  /** A step is about a microsecond: a node, a round of a loop, a member of a value, 32 characters. */
  readonly stepsMax: number
  /** Media directives. */
  readonly mediaMax: number
}

export const RENDER_LIMITS_DEFAULT: RenderLimits = {
  outputBytesMax: 1024 * 1024,
  stepsMax: 1_000_000,
  mediaMax: 64,
}

const STEPS_PER_SLICE = 400
const CHARACTERS_PER_STEP = 32

/** The budget of one rendering. */
export class RenderBudget {
  readonly limits: RenderLimits
  readonly #meter = new StepMeter(STEPS_PER_SLICE)
  #steps: number

  constructor(limits: RenderLimits) {
    this.limits = limits
    this.#steps = limits.stepsMax
  }

  /** True means that the caller must yield. Throws INVALID_ARGUMENT when the steps are used up. */
  spend(steps = 1): boolean {
    this.#steps -= steps
    if (this.#steps >= 0) return this.#meter.spend(steps)
    const { stepsMax } = this.limits
    throw renderError(
      `it takes more than ${stepsMax} steps with this document; it loops over too much data`,
    )
  }

  /** As `spend`, for reading that many characters. */
  spendOnText(characters: number): boolean {
    return this.spend(1 + Math.floor(characters / CHARACTERS_PER_STEP))
  }
}

/** Text that grows within the limit of the output. */
export class BoundedText {
  readonly #budget: RenderBudget
  readonly #what: string
  #text = ''
  #bytes: number

  /** `bytesUsed` were written before. `what` names the text in the error. */
  constructor(budget: RenderBudget, what: string, bytesUsed = 0) {
    this.#budget = budget
    this.#what = what
    this.#bytes = bytesUsed
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Throws INVALID_ARGUMENT when the text would be too long; then nothing was added. */
  add(text: string): void {
    const { outputBytesMax } = this.#budget.limits
    const roomBytes = outputBytesMax - this.#bytes
    // UTF-8 is never shorter than UTF-16 has units, so a huge text is refused without a look at it.
    const bytes = text.length > roomBytes ? text.length : Buffer.byteLength(text)
    if (bytes > roomBytes) {
      throw renderError(`${this.#what} is larger than ${outputBytesMax} bytes`)
    }
    this.#bytes += bytes
    this.#text += text
  }

  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }
}
