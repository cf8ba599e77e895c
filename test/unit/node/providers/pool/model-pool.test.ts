import { expect } from 'chai'
import type { RerankerConfig } from '../../../../../node/providers/config/provider-config.ts'
import type { Reranker } from '../../../../../node/providers/contract/provider.ts'
import { ModelPool } from '../../../../../node/providers/pool/model-pool.ts'

const KEPT_MAX = 8

function config(model: string): RerankerConfig {
  return { provider: 'quarry', model, url: undefined, apiKey: undefined }
}

describe('a pool of models', () => {
  let opened: string[]
  let closed: string[]
  let pool: ModelPool<RerankerConfig, Reranker>

  beforeEach(() => {
    opened = []
    closed = []
    pool = new ModelPool(({ model }): Reranker => {
      opened.push(model)
      return {
        name: model,
        rerank: async () => ({ scores: [], cutCount: 0 }),
        close: async () => void closed.push(model),
      }
    }, KEPT_MAX)
  })

  const use = (model: string): Promise<string> => pool.use(config(model), async ({ name }) => name)

  it('shares models between equal configurations, and keeps them open', async () => {
    expect([await use('a'), await use('a'), await use('b')]).to.deep.equal(['a', 'a', 'b'])
    expect(opened).to.deep.equal(['a', 'b'])
    expect(closed).to.deep.equal([])
  })

  it('closes a model when many others were used since', async () => {
    await use('first')
    await use('second')
    for (let i = 0; i < KEPT_MAX - 2; i++) await use(`other ${i}`)
    await use('first')
    await use('one more')

    expect(closed).to.deep.equal(['second'])
    expect(pool.size).to.equal(KEPT_MAX)
  })

  it('closes no model during a call', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const call = pool.use(config('busy'), () => promise)
    for (let i = 0; i < KEPT_MAX + 6; i++) await use(`other ${i}`)

    expect(closed).to.not.include('busy')
    resolve()
    await call
    expect(pool.size).to.equal(KEPT_MAX)
  })

  it('keeps a model after a call that failed, and closes all at its end', async () => {
    const failure = new Error('no')
    const failed = await pool.use(config('a'), () => Promise.reject(failure)).catch(String)
    await use('b')

    await pool[Symbol.asyncDispose]()

    expect(failed).to.equal('Error: no')
    expect(closed).to.deep.equal(['a', 'b'])
  })

  it('closes a model with its last user, where none are kept', async () => {
    const strict = new ModelPool<RerankerConfig, Reranker>(
      ({ model }) => ({
        name: model,
        rerank: async () => ({ scores: [], cutCount: 0 }),
        close: async () => void closed.push(model),
      }),
      0,
    )
    const [first, second] = [strict.lend(config('a')), strict.lend(config('a'))]
    expect(second.model).to.equal(first.model)

    await first.giveBack()
    expect(closed).to.deep.equal([])
    await second.giveBack()

    expect(closed).to.deep.equal(['a'])
    expect(strict.size).to.equal(0)
  })
})
