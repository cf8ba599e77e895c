// Readings of logs that nobody announced, gathered into few passes over the segments: at a start of a cluster's node its
// replicas are opened as the control plane names them, hundreds within moments.
//
//   entries() ──▶ gathering ──turn over, no pass under way──▶ one pass (joint-reading.ts)
//
// Invariants:
//   GR1  One pass is under way at a time: what is asked meanwhile waits for the next one.
//   GR2  A log that is being gathered is asked for once: a second reading of it has a pass of its own.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { JointReading } from './joint-reading.ts'
import { readEntries, type JournalEntry, type ReadableJournal } from './journal-reader.ts'
import type { LogId } from './journal-format.ts'

/** The readings that wait for a pass. */
interface Gathering {
  readonly logIds: Set<LogId>
  readonly begun: Promise<JointReading>
}

/** Reads as `Journal.entries` does, several logs in one pass. A reader that pauses keeps the others waiting. */
export class GatheredReading {
  readonly #journal: ReadableJournal
  #gathering: Gathering | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(journal: ReadableJournal) {
    this.#journal = journal
  }

  async *entries(logId: LogId, above: number): AsyncGenerator<readonly JournalEntry[]> {
    this.#gathering ??= this.#gather()
    const { logIds, begun } = this.#gathering
    if (logIds.has(logId)) {
      yield* readEntries(this.#journal, { logId, above }) // GR2
      return
    }
    logIds.add(logId)
    yield* (await begun).entries(logId, above)
  }

  /** GR1. */
  #gather(): Gathering {
    const logIds = new Set<LogId>()
    const before = this.#last
    const begin = async (): Promise<JointReading> => {
      await before
      await nextTurn() // those that are asked for in this turn come along
      this.#gathering = undefined
      return new JointReading(this.#journal, logIds)
    }
    const begun = begin()
    this.#last = begun.then((reading) => reading.ended)
    return { logIds, begun }
  }
}
