// The progress of a load on a terminal; silent anywhere else.

import type { SingleBar } from 'cli-progress'
import { drawBar, startProgressLine } from '../render/progress-bar.ts'
import { formatBytes, formatCount } from '../render/quantity.ts'
import { paint } from '../terminal.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Output } from '../terminal.ts'
import type { DocumentSource } from './document-source.ts'

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
    const total = this.#source.progress().total ?? 0
    return startProgressLine(this.#output, total, () => this.#line())
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
    if (total === undefined || total === 0) return ''
    return drawBar(this.#output, done / total, TEXT_COLUMNS)
  }
}
