// Follows the log of a shard for documents that were written.

import type { Clock } from '../../lib/clock.ts'
import { readTouchedKeys } from '../shard/following/document-changes.ts'
import type { Touch } from '../shard/format/log-entry.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { Ending } from './ending.ts'
import type { KeyTasks } from './key-tasks.ts'
import { OrderedWork } from './ordered-work.ts'

/** After 10,000 entries without a document an entry says so: the log can be collected up to there. */
const EMPTY_ENTRIES_MAX = 10_000

/** How far the log is done. */
export interface LogMark {
  readonly sequence: number
  /** Touches of documents up to there, since the follower began. */
  readonly documents: number
}

/** Whose log is followed from where, and who looks at what was touched. */
export interface TouchFollowerOptions {
  readonly led: LedShard
  readonly after: number
  readonly tasks: KeyTasks
  readonly ending: Ending
  readonly clock: Clock
}

/** Reads the log as far as there is room for its documents. */
export class TouchFollower {
  readonly #with: TouchFollowerOptions
  readonly #work = new OrderedWork<LogMark>()
  readonly #start: LogMark
  #read: number
  #documents = 0
  /** Documents of the entries behind `#read` that have a task. */
  #taken = 0

  constructor(options: TouchFollowerOptions) {
    this.#with = options
    this.#start = { sequence: options.after, documents: 0 }
    this.#read = options.after
  }

  /** Each document that was touched up to there is done. */
  get completed(): LogMark {
    return this.#work.completed ?? this.#start
  }

  /** Documents that were not looked at; the store may not have all of them yet. */
  get documentsLeft(): number {
    const { tally, documentsMax } = this.#with.led
    return Math.max(0, (tally.behind(this.#read, 'written') ?? documentsMax) - this.#taken)
  }

  /** Whether a later leader would be spared work. Enrichers' own entries do not count. */
  isWorthSaving(saved: LogMark): boolean {
    const { sequence, documents } = this.completed
    return documents > saved.documents || sequence >= saved.sequence + EMPTY_ENTRIES_MAX
  }

  /** Rejects at the end, and with CORRUPTION if the log does not reach back far enough. */
  async run(): Promise<never> {
    const { led, ending } = this.#with
    let wake: (() => void) | undefined
    const unlisten = led.onApplied(() => wake?.())
    try {
      for (;;) {
        if (led.appliedSequence > this.#read) await this.#step()
        else {
          await ending.unlessOver((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      unlisten()
    }
  }

  async #step(): Promise<void> {
    const { led, tasks, clock } = this.#with
    const concerns = (touch: Touch): boolean => this.#concerns(touch)
    const span = { from: this.#read + 1, to: led.appliedSequence }
    const { keys, sequence } = await readTouchedKeys({ store: led.store, concerns }, span, clock)
    const unit = this.#work.begin({ sequence, documents: this.#documents })
    for (const key of keys) {
      await tasks.room('write')
      tasks.take(key, 'write', unit)
      this.#taken += 1
    }
    unit.close()
    this.#taken = 0
    this.#read = sequence
  }

  /** Artifacts alone were written by an enricher, or by a client for its own index. */
  #concerns({ changed, deleted }: Touch): boolean {
    if (changed === 'artifacts') return false
    this.#documents += 1
    return !deleted
  }
}
