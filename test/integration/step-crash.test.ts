import { expect } from 'chai'
import { FORGET_PERIOD_MS } from '../../node/transactions/transaction-finisher.ts'
import { ServiceError } from '../../lib/errors.ts'
import {
  checkScenario,
  prepareScenario,
  runScenario,
  type Fates,
} from '../support/loads/step-scenario.ts'
import { SwarmHarness } from '../support/servers/swarm-harness.ts'

type Moment = 'before' | 'after'
const MOMENTS: readonly Moment[] = ['before', 'after']
/** Longer than marks are kept: an hour twice, and the history's ten minutes. */
const RETENTION_MS = 8_000_000

/** A harness in which the run is about to begin; its seed makes every run the same. */
async function openScenario(): Promise<SwarmHarness> {
  const harness = await SwarmHarness.open({ seed: 42 })
  await prepareScenario(harness)
  return harness
}

async function countWrites(): Promise<number> {
  await using harness = await openScenario()
  const before = harness.disk.writeCount
  const fates = await runScenario(harness)
  await harness.advance(FORGET_PERIOD_MS)
  const writes = harness.disk.writeCount - before
  expect(Object.values(fates).map(({ kind }) => kind)).to.include('acknowledged')
  await checkScenario(harness, fates)
  return writes
}

/** The run up to a power failure at its n-th write. */
async function crashRun(n: number, moment: Moment): Promise<[SwarmHarness, Fates]> {
  const harness = await openScenario()
  harness.disk.crashAt(harness.disk.writeCount + n, moment)
  const fates = await runScenario(harness)
  await harness.advance(FORGET_PERIOD_MS)
  return [harness, fates]
}

async function checkAt(place: string, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    throw new Error(`crash ${place}: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    })
  }
}

/** Starts again, losing power once more at the n-th write of the start; answers whether it did. */
async function restartCrashing(harness: SwarmHarness, n: number, moment: Moment): Promise<boolean> {
  const at = harness.disk.writeCount + n
  await harness.crash()
  harness.disk.restart()
  harness.disk.crashAt(at, moment)
  try {
    await harness.start()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
  }
  return harness.disk.writeCount >= at
}

describe('a power failure at any step', () => {
  it('leaves every transaction whole, and keeps every acknowledged write', async function () {
    this.timeout(240_000)
    const writes = await countWrites()
    expect(writes).to.be.greaterThan(30)
    for (let n = 1; n <= writes; n++) {
      for (const moment of MOMENTS) {
        const [harness, fates] = await crashRun(n, moment)
        await using closing = harness
        await checkAt(`${moment} write ${n} of ${writes}`, async () => {
          await closing.restart()
          await checkScenario(closing, fates)
        })
      }
    }
  })

  it('may be followed by another one at any step of the recovery', async function () {
    this.timeout(240_000)
    const writes = await countWrites()
    for (let n = 1; n <= writes; n++) {
      for (let again = 1; ; again++) {
        let crashed = false
        const [harness, fates] = await crashRun(n, 'after')
        await using closing = harness
        const moment = again % 2 === 0 ? 'after' : 'before'
        await checkAt(`after write ${n}, then ${moment} write ${again} of recovery`, async () => {
          crashed = await restartCrashing(closing, again, moment)
          await closing.restart()
          await checkScenario(closing, fates)
        })
        if (!crashed) break
      }
    }
  })

  it('leaves no mark of a transaction after its retention', async () => {
    const [harness, fates] = await crashRun(12, 'after')
    await using closing = harness
    await closing.restart()
    await checkScenario(closing, fates)
    expect((await harness.entries('finished')).length).to.be.greaterThan(0)

    await harness.advance(RETENTION_MS, 100_000)
    await harness.housekeeper.collect()

    expect((await harness.entries('finished')).length).to.equal(0)
  })
})
