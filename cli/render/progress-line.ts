import type { Clock } from '../../lib/clock.ts'
import type { Output } from '../process/terminal.ts'

const PERIOD_MS = 125
/** Erases from the cursor to the end of the line (ECMA-48, 8.3.41). */
const ERASE_LINE = '\r\u001b[K'

/**
 * A line at the bottom of a terminal. It is redrawn several times a second from the construction until
 * `stop`, which erases it. It changes nothing else of the terminal, so that a signal may end the
 * process at any moment.
 */
export class ProgressLine {
  readonly #output: Output
  readonly #clock: Clock
  readonly #text: () => string
  readonly #stopDrawing: () => Promise<void>
  #drawnMs = -Infinity

  /** `text` returns a text narrower than the terminal, such as those of `fitProgress`. */
  constructor(output: Output, clock: Clock, text: () => string) {
    this.#output = output
    this.#clock = clock
    this.#text = text
    this.#stopDrawing = clock.every(PERIOD_MS, async () => this.draw())
    this.draw()
  }

  /** Called after a change. It redraws the line, but at most once in a period. */
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
