// What an entry depends on is never durable after it (J2).

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { assert, must } from '../../../../lib/assert.ts'
import { Journal } from '../../../../node/journal/journal.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { plantCopy, type Defect } from '../../../support/simulation/planted-copy.ts'
import { TextSource, textsOfLog } from '../../../support/worlds/journal-source.ts'
import { openTestJournal, testJournalOptions } from '../../../support/worlds/test-journal.ts'
import { parseTestSettings } from '../../../support/worlds/test-settings.ts'

const RUNS = 200
const DEFECT_SEED = 7
const LOGS = ['000000000000000a', '000000000000000b', '000000000000000c', '000000000000000d']
/** Four of them are more than a batch has. */
const LONG = 300_000

/** The histories must find each of these. */
const DEFECTS: Readonly<Record<string, Defect>> = {
  'companions that have not said that they are ready': {
    file: 'batch-queue.ts',
    text: 'if (companion.readyEntries > 0)',
    instead: 'if (this.#sources.includes(companion))',
  },
  'companions that do not fit': {
    file: 'batch-queue.ts',
    text: 'if (companion.readyEntries > 0) chosen.add(companion)',
    instead: 'if (!this.#sources.includes(companion)) chosen.add(companion)',
  },
  'companions of companions': {
    file: 'batch-queue.ts',
    text: 'of chosen) {',
    instead: 'of [...chosen]) {',
  },
}

const STEP = fc.record({
  log: fc.nat(LOGS.length - 1),
  /** Logs whose last entry it depends on. */
  after: fc.array(fc.nat(LOGS.length - 1), { maxLength: 2 }),
  isLong: fc.boolean(),
  /** Otherwise the journal hears of it with a later entry. */
  isTold: fc.boolean(),
  /** Until the next step. */
  turns: fc.nat(2),
})
const STEPS = fc.array(STEP, { minLength: 4, maxLength: 30 })
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never

interface Written {
  readonly at: number
  readonly log: number
  readonly after: readonly Written[]
}

class History {
  readonly #disk = new FaultyDisk()
  readonly #entries: Written[] = []
  /** How many entries that another one depends on were durable. */
  followed = 0

  /** Loses power behind the last step, while the journal may be writing. */
  async run(journals: Pick<typeof Journal, 'open'>, steps: readonly Step[]): Promise<void> {
    const journal = await journals.open(testJournalOptions({ disk: this.#disk }))
    const sources = LOGS.map((log) => new TextSource(journal, log))
    for (const step of steps) {
      this.#append(sources, step)
      for (let turn = 0; turn < step.turns; turn++) await nextTurn()
    }
    this.#disk.restart()
    await this.#check()
  }

  #append(sources: readonly TextSource[], { log, after, isLong, isTold }: Step): void {
    const source = must(sources[log], 'a log')
    const others = after
      .filter((other) => other !== log)
      .map((other) => this.#entries.findLast((entry) => entry.log === other))
      .filter((entry) => entry !== undefined)
    for (const other of others) source.companions.add(must(sources[other.log], 'its log'))
    const at = this.#entries.length
    this.#entries.push({ at, log, after: others })
    const text = `${at} `.padEnd(isLong ? LONG : 0, '.')
    source.append(text, { isTold }).catch(() => undefined) // the power is gone
  }

  async #check(): Promise<void> {
    const journal = await openTestJournal({ disk: this.#disk })
    const texts = await Promise.all(LOGS.map((log) => textsOfLog(journal, log)))
    const durable = new Set(texts.flat().map((text) => parseInt(text, 10)))
    for (const { at, after } of this.#entries) {
      if (!durable.has(at)) continue
      this.followed += after.length
      for (const other of after) {
        assert(durable.has(other.at), `${at} is durable, and not ${other.at}`)
      }
    }
  }
}

describe('entries that depend on those of other logs', () => {
  const { seed } = parseTestSettings(process.env)

  it(`are durable behind them or with them, QUARRY_TEST_SEED=${seed}`, async () => {
    let followed = 0
    const property = fc.asyncProperty(STEPS, async (steps) => {
      const history = new History()
      await history.run(Journal, steps)
      followed += history.followed
    })

    await fc.assert(property, { seed, numRuns: RUNS })

    expect(followed).to.be.greaterThan(RUNS)
  }).timeout(60_000)

  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`would show a batch without ${name}`, async () => {
      const load = plantCopy({ copied: ['node/journal'], linked: ['lib', 'node/storage'] }, defect)
      const planted = await load<{ Journal: typeof Journal }>('node/journal/journal.ts')
      const property = fc.asyncProperty(STEPS, (steps) => new History().run(planted.Journal, steps))

      const { failed } = await fc.check(property, {
        seed: DEFECT_SEED,
        numRuns: 2 * RUNS,
        endOnFailure: true,
      })

      expect(failed).to.equal(true)
    }).timeout(60_000)
  }
})
