// Shows the progress of a load. On a terminal, it redraws one line. Elsewhere, it prints a line only
// when the service does not answer.

import { fitProgress } from '../render/progress-bar.ts'
import { ProgressLine } from '../render/progress-line.ts'
import { formatBytes, formatCount } from '../render/quantity.ts'
import { printable } from '../../lib/process/log-words.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Output } from '../process/terminal.ts'
import type { DocumentSource } from './document-source.ts'

/** After this time without an answer, the line says that the load is waiting. */
const SILENCE_MS = 2_000

/** The counts of a load, which its loader updates. */
export interface LoadCounts {
  loaded: number
  rejected: number
  bytes: number
}

/** Draws the progress from its construction to `stop`. */
export class LoadProgress {
  readonly #output: Output
  readonly #clock: Clock
  readonly #source: DocumentSource
  readonly #counts: Readonly<LoadCounts>
  readonly #startedMs: number
  readonly #progress: ProgressLine | undefined
  #answeredMs: number
  /** The reason of the last failed request; undefined after an answer. */
  #trouble: string | undefined

  constructor(
    watched: { readonly source: DocumentSource; readonly counts: Readonly<LoadCounts> },
    { output, clock }: { readonly output: Output; readonly clock: Clock },
  ) {
    this.#source = watched.source
    this.#counts = watched.counts
    this.#output = output
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
    this.#answeredMs = this.#startedMs
    this.#progress = output.isTty ? new ProgressLine(output, clock, () => this.#line()) : undefined
  }

  /** Called after each answer of the service. */
  update(): void {
    this.#answeredMs = this.#clock.monotonicMs()
    this.#trouble = undefined
    this.#progress?.update()
  }

  /** Called when a request failed and will be sent again. */
  onTrouble(why: string): void {
    const isNew = this.#trouble === undefined
    this.#trouble = printable(why)
    if (this.#progress !== undefined) return this.#progress.draw()
    if (isNew) this.#output.stream.write(`waiting for the server: ${this.#trouble}\n`)
  }

  async stop(): Promise<void> {
    await this.#progress?.stop()
  }

  #line(): string {
    const { loaded, rejected, bytes } = this.#counts
    const seconds = Math.max(0.001, (this.#clock.monotonicMs() - this.#startedMs) / 1000)
    return fitProgress(this.#output, {
      share: this.#share(),
      figures: [
        `${formatCount(loaded)} docs`,
        `${formatCount(loaded / seconds)} docs/s`,
        formatBytes(bytes),
      ],
      alarm: rejected === 0 ? undefined : `${formatCount(rejected)} rejected`,
      note: this.#waiting(),
    })
  }

  #waiting(): string | undefined {
    const silentMs = this.#clock.monotonicMs() - this.#answeredMs
    if (this.#trouble === undefined && silentMs < SILENCE_MS) return undefined
    const seconds = Math.floor(silentMs / 1000)
    const why = this.#trouble === undefined ? '' : `: ${this.#trouble}`
    return `waiting for the server, ${seconds} s${why}`
  }

  /** The done part, from 0 to 1; undefined when the size is not known. */
  #share(): number | undefined {
    const { done, total } = this.#source.progress()
    return total === undefined || total === 0 ? undefined : done / total
  }
}
