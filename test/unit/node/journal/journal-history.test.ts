import { expect } from 'chai'
import * as fc from 'fast-check'
import { Journal } from '../../../../node/journal/journal.ts'
import { openReplicaLogs } from '../../../../node/replication/log/replica-log.ts'
import { plantCopy, type Defect } from '../../../support/simulation/planted-copy.ts'
import { STEPS } from '../../../support/models/journal-steps.ts'
import { runHistory, type JournalModules } from '../../../support/worlds/journal-history.ts'
import { parseTestSettings } from '../../../support/worlds/test-settings.ts'

const RUNS = 200
/** A defect must be found within so many histories. */
const DEFECT_RUNS = 400
const DEFECT_SEED = 7

const JOURNAL = 'node/journal'
const LINKED = ['lib', 'node/storage']

/** The histories must find each of these. */
const DEFECTS: Readonly<Record<string, Defect>> = {
  'marks that go away with their segment': {
    file: 'journal-retention.ts',
    text: 'if (this.#with.carry(oldest) || oldest.isRead) return',
    instead: 'if (oldest.isRead) return',
  },
  'a segment that goes before its marks are durable in a newer one': {
    file: 'carried-marks.ts',
    text: 'this.#with.onReady(this)\n    return true',
    instead: 'this.#with.onReady(this)\n    return false',
  },
  'promises that are not carried': {
    file: 'log-marks.ts',
    text: 'promised.value > 0 && promised.segment <= segment',
    instead: 'promised.value < 0',
  },
  'committed sequences that are not carried': {
    file: 'log-marks.ts',
    text: 'committed.value > 0 && committed.segment <= segment',
    instead: 'committed.value < 0',
  },
  'a truncation that removes entries behind it': {
    file: 'log-marks.ts',
    text: 'sequence <= cut.after || cut.batch < batch || ',
    instead: 'sequence <= cut.after || ',
  },
  'a truncation that spares the entries of its batch': {
    file: 'log-marks.ts',
    text: 'cut.batch < batch ||',
    instead: 'cut.batch <= batch ||',
  },
  'a truncation that is forgotten at a start': {
    file: 'journal-recovery.ts',
    text: 'for (const row of rowsOf(batch, name)) yield row.mark === undefined ? row.entry : row',
    instead: 'for (const row of rowsOf(batch, name)) if (row.mark === undefined) yield row.entry',
  },
  'a restart that keeps older entries': {
    file: 'log-marks.ts',
    text: 'after: NOTHING }',
    instead: 'after: mark.last.sequence }',
  },
  'a truncation that takes one entry too many': {
    file: 'kept-logs.ts',
    text: 'last.sequence > sequence',
    instead: 'last.sequence >= sequence',
  },
  'a cut that hides the new entries of its segment': {
    file: 'journal-content.ts',
    text: 'segment.add(row.logId, row.sequence, offset)',
    instead: 'segment.lastSequenceOf(row.logId) ?? segment.add(row.logId, row.sequence, offset)',
  },
  'a seal that takes committed sequences and does not write them': {
    file: 'journal.ts',
    text: 'this.#remember(rows, await this.#writer.write(rows))',
    instead: 'this.#remember(rows, await this.#writer.write([]))',
  },
}

async function plant(defect: Defect): Promise<JournalModules> {
  const load = plantCopy({ copied: [JOURNAL], linked: LINKED }, defect)
  const planted = await load<Pick<JournalModules, 'Journal'>>(`${JOURNAL}/journal.ts`)
  return { Journal: planted.Journal, openReplicaLogs }
}

describe('a journal of replicated logs', () => {
  const { seed } = parseTestSettings(process.env)

  it(`is after each crash what its model says, QUARRY_TEST_SEED=${seed}`, async () => {
    let images = 0
    let segments = 0
    const property = fc.asyncProperty(STEPS, fc.nat(), async (steps, chance) => {
      const history = await runHistory({ Journal, openReplicaLogs }, steps, chance)
      images += history.images
      segments += history.segments
    })

    await fc.assert(property, { seed, numRuns: RUNS })

    expect(images).to.be.greaterThan(RUNS * 10)
    expect(segments).to.be.greaterThan(RUNS * 5)
  }).timeout(300_000)

  it('shows nothing of a copy without a defect', async () => {
    const text = 'cut.batch < batch ||'
    const modules = await plant({ file: 'log-marks.ts', text, instead: `${text} ` })
    const property = fc.asyncProperty(STEPS, fc.nat(), async (steps, chance) => {
      await runHistory(modules, steps, chance)
    })

    await fc.assert(property, { seed: DEFECT_SEED, numRuns: 20 })
  }).timeout(300_000)

  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`would show ${name}`, async () => {
      const modules = await plant(defect)
      const property = fc.asyncProperty(STEPS, fc.nat(), async (steps, chance) => {
        await runHistory(modules, steps, chance)
      })

      const { failed } = await fc.check(property, {
        seed: DEFECT_SEED,
        numRuns: DEFECT_RUNS,
        endOnFailure: true,
      })

      expect(failed).to.equal(true)
    }).timeout(300_000)
  }
})
