import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { FAULTS, runCompleteness } from '../support/loads/completeness-rounds.ts'

const SEED = Date.now() % 100_000

describe('what says that indexes are complete', () => {
  it('is true through loads, backfills, kills, restarts, new indexes and a slow model', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-complete-'))
    try {
      const seen = await runCompleteness({ dataDir, seed: SEED, faults: FAULTS })

      expect(seen.rightlyBehind, `seed ${SEED}`).to.be.above(0)
      expect(seen.complete, `seed ${SEED}`).to.be.above(0)
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  }).timeout(0)
})
