// The progress of a pull: a bar on a terminal, a line for each file anywhere else.

import type { SingleBar } from 'cli-progress'
import type { HubFile } from '../../inference/models/hub/hub-listing.ts'
import type { PullWatcher } from '../../inference/models/hub/model-pull.ts'
import type { Clock } from '../../lib/clock.ts'
import { drawBar, startProgressLine } from '../render/progress-bar.ts'
import { formatBytes, plural } from '../render/quantity.ts'
import { cutText, printable } from '../render/text-width.ts'
import { paint } from '../terminal.ts'
import type { Output } from '../terminal.ts'

/** What the text beside the bar takes at most. */
const TEXT_COLUMNS = 68
const NAME_COLUMNS = 30

export class PullProgress implements PullWatcher {
  readonly #output: Output
  readonly #clock: Clock
  readonly #bytesOf = new Map<string, number>()
  #bar: SingleBar | undefined
  #startedMs = 0
  #startBytes: number | undefined
  /** A file may come before the plan, which depends on it. */
  #isPlanned = false
  #totalBytes = 0
  #name = ''

  constructor(output: Output, clock: Clock) {
    this.#output = output
    this.#clock = clock
  }

  onPlan({ files, bytes }: { readonly files: number; readonly bytes: number }): void {
    this.#isPlanned = true
    this.#totalBytes = bytes
    this.#startedMs = this.#clock.monotonicMs()
    if (this.#output.isTty) this.#bar = startProgressLine(this.#output, bytes, () => this.#line())
    else this.#say(`${plural(files, 'file')}, ${formatBytes(bytes)}`)
  }

  onFileBytes(file: HubFile, bytes: number): void {
    this.#name = file.path
    this.#startBytes ??= bytes // what an earlier pull has left does not count as speed
    this.#bytesOf.set(file.path, bytes)
    this.#bar?.update(this.#doneBytes())
    const isListed = this.#isPlanned && !this.#output.isTty
    if (isListed && bytes === file.bytes) this.#say(`${file.path}, ${formatBytes(bytes)}`)
  }

  onRetry(why: string): void {
    if (this.#bar === undefined) this.#say(`${why}; trying again`)
    else this.#name = why
  }

  stop(): void {
    this.#bar?.stop()
    this.#bar = undefined
  }

  #say(line: string): void {
    this.#output.stream.write(`${printable(line)}\n`)
  }

  #doneBytes(): number {
    return this.#bytesOf.values().reduce((sum, bytes) => sum + bytes, 0)
  }

  #line(): string {
    const done = this.#doneBytes()
    const seconds = Math.max(0.001, (this.#clock.monotonicMs() - this.#startedMs) / 1000)
    const rate = Math.max(0, done - (this.#startBytes ?? 0)) / seconds
    const figures = [
      `${formatBytes(done)} of ${formatBytes(this.#totalBytes)}`,
      `${formatBytes(rate)}/s`,
      cutText(printable(this.#name), NAME_COLUMNS),
    ]
    const share = this.#totalBytes === 0 ? 1 : done / this.#totalBytes
    const text = figures.join(paint(this.#output, 'dim', ' · '))
    return `${drawBar(this.#output, share, TEXT_COLUMNS)}${text}`
  }
}
