// Shows the progress of a pull: as a bar on a terminal, elsewhere as one line for each file.

import type { HubFile } from '../../inference/models/hub/hub-listing.ts'
import type { PullWatcher } from '../../inference/models/hub/model-pull.ts'
import type { Clock } from '../../lib/clock.ts'
import { fitProgress } from '../render/progress-bar.ts'
import { ProgressLine } from '../render/progress-line.ts'
import { formatBytes, plural } from '../render/quantity.ts'
import { printable } from '../../lib/process/log-words.ts'
import { cutText } from '../render/text-width.ts'
import type { Output } from '../process/terminal.ts'

const NAME_COLUMNS = 30

/** Draws the progress of one pull until `stop`. */
export class PullProgress implements PullWatcher {
  readonly #output: Output
  readonly #clock: Clock
  readonly #bytesOf = new Map<string, number>()
  #progress: ProgressLine | undefined
  #startedMs = 0
  #startBytes: number | undefined
  /** Some files are downloaded before the plan, because the plan depends on them. */
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
    if (this.#output.isTty) {
      this.#progress = new ProgressLine(this.#output, this.#clock, () => this.#line())
    } else {
      this.#say(`${plural(files, 'file')}, ${formatBytes(bytes)}`)
    }
  }

  onFileBytes(file: HubFile, bytes: number): void {
    this.#name = file.path
    this.#startBytes ??= bytes // bytes of an earlier pull do not count for the rate
    this.#bytesOf.set(file.path, bytes)
    this.#progress?.update()
    const isListed = this.#isPlanned && !this.#output.isTty
    if (isListed && bytes === file.bytes) this.#say(`${file.path}, ${formatBytes(bytes)}`)
  }

  onRetry(why: string): void {
    if (this.#progress === undefined) return this.#say(`${why}; trying again`)
    this.#name = why
    this.#progress.draw()
  }

  async stop(): Promise<void> {
    await this.#progress?.stop()
    this.#progress = undefined
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
    return fitProgress(this.#output, {
      share: this.#totalBytes === 0 ? 1 : done / this.#totalBytes,
      figures: [
        `${formatBytes(done)} of ${formatBytes(this.#totalBytes)}`,
        `${formatBytes(rate)}/s`,
        cutText(printable(this.#name), NAME_COLUMNS),
      ],
    })
  }
}
