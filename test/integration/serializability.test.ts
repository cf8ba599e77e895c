// What became visible is read from the disks of the store, of which each delays writes as it likes. As clients see
// it, in one process and in a cluster: test/suites/serializability.ts.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { LevelStoreFactory } from '../../node/storage/level-store-factory.ts'
import { findAnomalies } from '../support/checkers/serializability.ts'
import {
  createWorkloadTables,
  runWorkload,
  type RecordedHistory,
} from '../support/loads/adya-workload.ts'
import { DelayedStores } from '../support/worlds/delayed-stores.ts'
import { LeapingClock } from '../support/worlds/leaping-clock.ts'
import { SwarmHarness } from '../support/servers/swarm-harness.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const SEEDS = 6
const CLIENTS = 10
const TRANSACTIONS_PER_CLIENT = 60

function checkHistory({ history, staleReads, transactions }: RecordedHistory, seed: number): void {
  const shown = `seed ${seed}`
  expect(findAnomalies(history), shown).to.deep.equal([])
  expect(staleReads, shown).to.deep.equal([])
  const visible = new Set(history.committed.map(({ id }) => id))
  const lost = transactions.filter(({ id, outcome, writes }) => {
    return outcome === 'committed' && writes.length > 0 && !visible.has(id)
  })
  expect(lost, shown).to.deep.equal([])
  const revived = transactions.filter(({ id, outcome }) => outcome === 'aborted' && visible.has(id))
  expect(revived, `${shown}: aborted, but visible`).to.deep.equal([])
}

/** Enough went through, and enough was refused, for the check to mean something. */
function checkContention({ transactions }: RecordedHistory): void {
  const occ = transactions.filter(({ reads, writes }) => reads.length > 1 && writes.length > 0)
  const committed = occ.filter(({ outcome }) => outcome === 'committed').length
  expect(committed).to.be.greaterThan(10)
  expect(occ.length - committed).to.be.greaterThan(10)
}

describe('transactions', () => {
  const { seed: first } = parseTestSettings(process.env)
  for (let seed = first; seed < first + SEEDS; seed++) {
    it(`are serializable while the clock leaps and disks finish in the order of seed ${seed}`, async function () {
      this.timeout(240_000)
      const random = seededRandom(seed)
      const stores = new DelayedStores(random)
      const clock = new LeapingClock(seededRandom(seed + 1))
      await using harness = await SwarmHarness.open({ stores, clock, seed })
      await createWorkloadTables(harness)

      const perClient = TRANSACTIONS_PER_CLIENT
      const recorded = await runWorkload(harness, { clients: CLIENTS, perClient, random })

      checkHistory(recorded, seed)
      checkContention(recorded)
    })
  }

  it(`are serializable on LevelDB (seed ${first})`, async function () {
    this.timeout(240_000)
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-adya-'))
    try {
      const clock = systemClock
      const stores = await LevelStoreFactory.open(directory, { clock, ownLog: 'discard' })
      await using harness = await SwarmHarness.open({ stores, clock, seed: first })
      await createWorkloadTables(harness)
      const random = seededRandom(first)

      const recorded = await runWorkload(harness, { clients: CLIENTS, perClient: 100, random })

      checkHistory(recorded, first)
      checkContention(recorded)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
})
