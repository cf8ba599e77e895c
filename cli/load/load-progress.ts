// The progress of a load on a terminal; silent anywhere else.

import { Presets, SingleBar } from 'cli-progress'
import { formatBytes, formatCount } from '../render/quantity.ts'
import { paint } from '../terminal.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Output } from '../terminal.ts'
import type { DocumentSource } from './document-source.ts'

const BAR_COLUMNS_MAX = 40
/** What the text beside the bar takes at most. */
const TEXT_COLUMNS = 58

export interface LoadCounts {
  loaded: number
  rejected: number
  bytes: number
}

export class LoadProgress {
  readonly #output: Output
  readonly #clock: Clock
  readonly #source: DocumentSource
  readonly #counts: Readonly<LoadCounts>
  readonly #startedMs: number
  readonly #bar: SingleBar | undefined

  constructor(
    watched: { readonly source: DocumentSource; readonly counts: Readonly<LoadCounts> },
    { output, clock }: { readonly output: Output; readonly clock: Clock },
  ) {
    this.#source = watched.source
    this.#counts = watched.counts
    this.#output = output
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
    this.#bar = output.isTty ? this.#start() : undefined
  }

  update(): void {
    const { done, total } = this.#source.progress()
    if (total !== undefined) this.#bar?.setTotal(total)
    this.#bar?.update(done)
  }

  stop(): void {
    this.#bar?.stop()
  }

  #start(): SingleBar {
    const bar = new SingleBar(
      {
        stream: this.#output.stream,
        fps: 8,
        clearOnComplete: true,
        // The terminal is left as it is, so a signal may end the process at any moment without
        // anything to restore; the library's own handlers would swallow the first Ctrl-C.
        hideCursor: false,
        linewrap: true,
        gracefulExit: false,
        format: () => this.#line(),
      },
      Presets.shades_classic,
    )
    bar.start(this.#source.progress().total ?? 0, 0)
    return bar
  }

  #line(): string {
    const { loaded, rejected, bytes } = this.#counts
    const seconds = Math.max(0.001, (this.#clock.monotonicMs() - this.#startedMs) / 1000)
    const figures = [
      `${formatCount(loaded)} docs`,
      `${formatCount(loaded / seconds)} docs/s`,
      formatBytes(bytes),
    ]
    const text = figures.join(paint(this.#output, 'dim', ' · '))
    const failed = rejected === 0 ? '' : paint(this.#output, 'red', `  ${rejected} rejected`)
    return `${this.#drawBar()}${text}${failed}`
  }

  /** Empty when the end is not known, as for a pipe. */
  #drawBar(): string {
    const { done, total } = this.#source.progress()
    const columns = Math.min(BAR_COLUMNS_MAX, this.#output.columns - TEXT_COLUMNS)
    if (total === undefined || total === 0 || columns < 8) return ''
    const share = Math.min(1, done / total)
    const filled = Math.round(share * columns)
    const percent = `${Math.floor(share * 100)}%`.padStart(4)
    const rest = paint(this.#output, 'dim', '─'.repeat(columns - filled))
    return `${paint(this.#output, 'green', '━'.repeat(filled))}${rest} ${percent}  `
  }
}
