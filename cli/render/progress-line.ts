import type { Clock } from '../../lib/clock.ts'
import type { Output } from '../process/terminal.ts'

const PERIOD_MS = 125
/** Erases from the cursor to the end of the line (ECMA-48, 8.3.41). */
const ERASE_LINE = '\r\u001b[K'

/**
 * A line at the bottom of a terminal that is written anew several times a second, from its opening
 * until `stop`, which leaves an empty line. Nothing else of the terminal is touched, so that a signal
 * may end the process at any moment.
 */
export class ProgressLine {
  readonly #output: Output
  readonly #clock: Clock
  readonly #text: () => string
  readonly #stopDrawing: () => Promise<void>
  #drawnMs = -Infinity

  /** `text` has to be narrower than the terminal: fitProgress makes such texts. */
  constructor(output: Output, clock: Clock, text: () => string) {
    this.#output = output
    this.#clock = clock
    this.#text = text
    this.#stopDrawing = clock.every(PERIOD_MS, async () => this.draw())
    this.draw()
  }

  /** Something has changed: it is shown if the last drawing is old enough to have been seen. */
  update(): void {
    if (this.#clock.monotonicMs() - this.#drawnMs >= PERIOD_MS) this.draw()
  }

  draw(): void {
    this.#drawnMs = this.#clock.monotonicMs()
    this.#output.stream.write(ERASE_LINE + this.#text())
  }

  async stop(): Promise<void> {
    await this.#stopDrawing()
    this.#output.stream.write(ERASE_LINE)
  }
}
