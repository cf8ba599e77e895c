// Shards whose indexes are asked together answer as each of them alone, and as one shard that has all documents.

import { expect } from 'chai'
import { errorOf } from '../support/error-of.ts'
import { runFailure, runTogether } from '../support/loads/together-rounds.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const ROUNDS = 6

describe(`shards that are asked together (QUARRY_TEST_SEED=${seed})`, () => {
  for (const threads of [1, 2]) {
    it(`answer as each alone, and as one shard, in ${threads} workers`, async () => {
      const seen = await runTogether({ seed, rounds: ROUNDS, threads })

      expect(seen.hits).to.be.above(1000)
      expect(seen.together).to.be.above(1000)
    }).timeout(300_000)
  }
})

describe('shards that are asked together, when one fails', () => {
  it('answer without it, and the result says so', async () => {
    const { alone, together } = await runFailure({ failed: 1 })

    expect(together.hits.hits).to.have.length.above(0)
    expect(together.profile?.shards).to.deep.include({ failed: 1 })
    expect(together.error).to.be.a('string')
    expect(together.hits).to.deep.equal(alone.hits)
  })

  it('refuse the query when all fail', async () => {
    const refusal = await errorOf(() => runFailure({ failed: Infinity }))

    expect(refusal).to.include({ code: 'UNAVAILABLE' })
  })
})
