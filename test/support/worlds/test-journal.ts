import type { Clock } from '../../../lib/clock.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { Journal, type JournalOptions } from '../../../node/journal/journal.ts'
import { FaultyDisk } from '../fakes/faulty-disk.ts'

/** Small, so that tests turn over segments, and many of them fit into memory. */
export const TEST_SEGMENT_BYTES = 64 * 1024

export interface TestJournalOptions extends Partial<JournalOptions> {
  readonly disk?: FaultyDisk
  readonly clock?: Clock
}

/** A failed write throws where nobody waits, unless the test listens. */
export function testJournalOptions(options: TestJournalOptions = {}): JournalOptions {
  const { disk = new FaultyDisk(), clock = new ManualClock(), ...others } = options
  const random = seededRandom(5)
  return {
    directory: disk.directory,
    clock,
    log: silentLog,
    randomBits: () => Math.floor(random() * 0x1_0000_0000),
    hasRoomFor: () => true,
    onFailure: () => undefined,
    segmentBytes: TEST_SEGMENT_BYTES,
    keptBytes: 4 * TEST_SEGMENT_BYTES,
    ...others,
  }
}

/** A journal on a simulated disk, with `testJournalOptions`. */
export function openTestJournal(options: TestJournalOptions = {}): Promise<Journal> {
  return Journal.open(testJournalOptions(options))
}
