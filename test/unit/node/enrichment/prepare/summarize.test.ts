import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { AwayError } from '../../../../../node/enrichment/prepare/away-error.ts'
import { Summarizer } from '../../../../../node/enrichment/prepare/summarize.ts'
import type { Generator, PromptPart } from '../../../../../node/providers/contract/provider.ts'
import {
  ProviderError,
  unavailable,
} from '../../../../../node/providers/contract/provider-error.ts'
import { errorOf } from '../../../../support/error-of.ts'

const { signal } = new AbortController()
const SHOWN: readonly PromptPart[] = [{ kind: 'image', dataUri: 'data:image/png;base64,AA==' }]

describe('the summarizer of an index', () => {
  let clock: ManualClock
  let asked: number
  let failure: Error | undefined
  let summarizer: Summarizer

  beforeEach(() => {
    clock = new ManualClock()
    asked = 0
    failure = undefined
    const generator: Generator = {
      name: 'seer',
      accepts: ['image'],
      generate: async () => {
        asked += 1
        if (failure !== undefined) throw failure
        return ' A harbour. '
      },
      close: async () => undefined,
    }
    summarizer = new Summarizer(generator, clock)
  })

  const describeShown = (): Promise<string> => summarizer.describe(SHOWN, signal)

  it('is away while it gives no good answer, and limited while it wants fewer calls', async () => {
    expect(await describeShown()).to.equal('A harbour.')

    failure = unavailable('seer: status 500')
    const away = await errorOf(describeShown)
    failure = new ProviderError({ kind: 'rate_limited' }, 'seer: status 429')
    const limited = await errorOf(describeShown)

    expect(away instanceof AwayError && away.part).to.equal('summarizer')
    expect(away).to.include({ code: 'UNAVAILABLE', message: 'seer: status 500' })
    expect(limited).to.equal(failure)
  })

  it('is left alone for ten seconds after eight failures in a row', async () => {
    failure = unavailable('seer: nothing listens there')
    for (let time = 0; time < 12; time++) await errorOf(describeShown)
    expect(asked).to.equal(8)

    clock.advance(10_000)
    failure = undefined

    expect(await describeShown()).to.equal('A harbour.')
    failure = unavailable('seer: one image')
    for (let time = 0; time < 7; time++) await errorOf(describeShown)
    expect(asked).to.equal(16)
  })
})
