import type { ServiceError } from '../../lib/errors.ts'
import type { JournalSource } from './journal-source.ts'
import type { AppendedMark } from './log-mark.ts'

/** What the source calls. */
export interface CarriedMarksOptions {
  /** Queues the source. */
  readonly onReady: (source: JournalSource) => void
  /** The marks are in a newer segment now. */
  readonly onWritten: () => void
}

/**
 * Writes marks again that would go away with their segment. Nobody waits for them: the segment
 * stays until they are durable.
 */
export class CarriedMarks implements JournalSource {
  /** Companions are found by their objects, so a source of several logs needs no id. */
  readonly logId = ''
  readonly readyBytes = 0
  readonly companions = []
  readonly #with: CarriedMarksOptions
  /** Finds the marks anew: newer ones may have been written since. */
  #find: (() => readonly AppendedMark[]) | undefined
  readyEntries = 0

  constructor(options: CarriedMarksOptions) {
    this.#with = options
  }

  /**
   * False if `find` finds no marks. Otherwise they are being written. `find` must not find more
   * marks later.
   */
  carry(find: () => readonly AppendedMark[]): boolean {
    const { length } = find()
    if (length === 0) return false
    if (this.#find !== undefined) return true
    this.#find = find
    this.readyEntries = length
    this.#with.onReady(this)
    return true
  }

  take(): readonly AppendedMark[] {
    return this.#find?.() ?? []
  }

  written(): void {
    this.#find = undefined
    this.#with.onWritten()
  }

  /** The segment stays. Its next removal carries the marks again. */
  failed(_error: ServiceError): void {
    this.#find = undefined
  }
}
