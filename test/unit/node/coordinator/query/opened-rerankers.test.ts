import { expect } from 'chai'
import { OpenedRerankers } from '../../../../../node/coordinator/query/opened-rerankers.ts'
import type { RerankerConfig } from '../../../../../node/providers/config/provider-config.ts'
import type { Reranker } from '../../../../../node/providers/contract/provider.ts'

function config(model: string): RerankerConfig {
  return { provider: 'quarry', model, url: undefined, apiKey: undefined }
}

describe('the rerankers of queries', () => {
  let opened: string[]
  let closed: string[]
  let rerankers: OpenedRerankers

  beforeEach(() => {
    opened = []
    closed = []
    rerankers = new OpenedRerankers(({ model }): Reranker => {
      opened.push(model)
      return {
        name: model,
        rerank: async () => [],
        close: async () => void closed.push(model),
      }
    })
  })

  const use = (model: string): Promise<string> =>
    rerankers.use(config(model), async ({ name }) => name)

  it('are shared by equal configurations, and stay open', async () => {
    expect([await use('a'), await use('a'), await use('b')]).to.deep.equal(['a', 'a', 'b'])
    expect(opened).to.deep.equal(['a', 'b'])
    expect(closed).to.deep.equal([])
  })

  it('are closed when many others were asked since', async () => {
    await use('first')
    await use('second')
    for (let i = 0; i < 62; i++) await use(`other ${i}`)
    await use('first')
    await use('one more')

    expect(closed).to.deep.equal(['second'])
    expect(rerankers.size).to.equal(64)
  })

  it('are not closed during a call', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const call = rerankers.use(config('busy'), () => promise)
    for (let i = 0; i < 70; i++) await use(`other ${i}`)

    expect(closed).to.not.include('busy')
    resolve()
    await call
    expect(rerankers.size).to.equal(64)
  })

  it('stay open after a call that failed, and all close with their node', async () => {
    const failure = new Error('no')
    const failed = await rerankers.use(config('a'), () => Promise.reject(failure)).catch(String)
    await use('b')

    await rerankers[Symbol.asyncDispose]()

    expect(failed).to.equal('Error: no')
    expect(closed).to.deep.equal(['a', 'b'])
  })
})
