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
const BLOCK_LENGTH = 16 * 1024

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
  readonly #blocks: string[] = []
  #block = ''
  #bytes = 0

  /** `what` names the text in the error. */
  constructor(budget: RenderBudget, what: string) {
    this.#budget = budget
    this.#what = what
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
    this.#block += text
    if (this.#block.length >= BLOCK_LENGTH) this.#endBlock()
  }

  take(): string {
    this.#endBlock()
    return this.#blocks.splice(0).join('')
  }

  /**
   * Reading a character makes V8 join the block's parts now. Otherwise it would join all of them at the
   * end.
   */
  #endBlock(): void {
    if (this.#block.charCodeAt(0) >= 0) this.#blocks.push(this.#block)
    this.#block = ''
  }
}
