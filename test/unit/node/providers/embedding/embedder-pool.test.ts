import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import type { EmbedderConfig } from '../../../../../node/providers/config/provider-config.ts'
import { configurationKey } from '../../../../../node/providers/config/configuration-key.ts'
import { EmbedderPool } from '../../../../../node/providers/pool/embedder-pool.ts'
import { probeDimension } from '../../../../../node/providers/embedding/probe-dimension.ts'
import { QueryVectors } from '../../../../../node/providers/embedding/query-vectors.ts'
import type {
  EmbedOptions,
  EmbedPart,
  Embedder,
} from '../../../../../node/providers/contract/provider.ts'
import { failureOf } from '../../../../support/failure-of.ts'

const never = new AbortController().signal

function quarry(model: string): EmbedderConfig {
  return { provider: 'quarry', model, url: undefined, apiKey: undefined, multimodal: false }
}

/** An embedder whose vectors are as long as a test says. */
class CountingEmbedder implements Embedder {
  readonly name = 'counting'
  readonly acceptsImages = false
  calls = 0
  isClosed = false
  isSilent = false
  dimension = 3

  async embed(
    items: readonly (readonly EmbedPart[])[],
    { signal }: EmbedOptions,
  ): Promise<readonly Float32Array[]> {
    this.calls += 1
    if (this.isSilent) {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    }
    return items.map(() => new Float32Array(this.dimension).fill(this.calls))
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

describe('the pool of embedders', () => {
  let opened: CountingEmbedder[]
  let pool: EmbedderPool

  beforeEach(() => {
    opened = []
    pool = new EmbedderPool(() => {
      const embedder = new CountingEmbedder()
      opened.push(embedder)
      return embedder
    })
  })

  it('opens one for equal configurations, and closes it after its last user', async () => {
    const first = pool.borrow(quarry('a'))
    const second = pool.borrow({ ...quarry('a') })
    const other = pool.borrow(quarry('b'))
    expect([pool.size, opened.length]).to.deep.equal([2, 2])

    await first.close()
    await first.close()
    expect(opened[0]?.isClosed).to.equal(false)
    await second.close()

    expect(opened.map(({ isClosed }) => isClosed)).to.deep.equal([true, false])
    expect(pool.size).to.equal(1)
    await other.close()
  })

  it('refuses calls by a user who has given it back, while others embed', async () => {
    const first = pool.borrow(quarry('a'))
    const second = pool.borrow(quarry('a'))
    await first.close()

    const options = { signal: never, use: 'document' as const }
    const refusal = await failureOf(first.embed([[{ kind: 'text', text: 'x' }]], options))
    const [vector] = await second.embed([[{ kind: 'text', text: 'x' }]], options)

    expect(refusal).to.have.property('code', 'UNAVAILABLE')
    expect(vector).to.have.length(3)
  })

  it('has one key for a configuration, in whatever order its members stand', () => {
    const turned: EmbedderConfig = {
      multimodal: false,
      apiKey: undefined,
      model: 'a',
      provider: 'quarry',
      url: undefined,
    }

    expect(configurationKey(turned)).to.equal(configurationKey(quarry('a')))
    expect(configurationKey(quarry('a'))).to.not.equal(configurationKey(quarry('b')))
  })

  it('closes all at its end', async () => {
    pool.borrow(quarry('a'))
    pool.borrow(quarry('b'))

    await pool[Symbol.asyncDispose]()

    expect(opened.every(({ isClosed }) => isClosed)).to.equal(true)
  })
})

describe('the probe of a dimension', () => {
  it('is the length of a vector, and ends after 30 seconds', async () => {
    const clock = new ManualClock()
    const embedder = new CountingEmbedder()
    expect(await probeDimension(embedder, { signal: never, clock })).to.equal(3)

    embedder.isSilent = true
    const probe = failureOf(probeDimension(embedder, { signal: never, clock }))
    clock.advance(30_000)

    const error = await probe
    expect(error).to.have.property('code', 'UNAVAILABLE')
    expect(error).to.have.property('message').that.includes('30000 ms')
  })
})

describe('the vectors of recent questions', () => {
  const parts: readonly EmbedPart[] = [{ kind: 'text', text: 'high water' }]

  it('are kept for five minutes, by configuration and text', async () => {
    const clock = new ManualClock()
    const embedder = new CountingEmbedder()
    const vectors = new QueryVectors(clock)
    const ask = (key: string, text = 'high water'): Promise<Float32Array> =>
      vectors.vectorOf({ embedder, key, parts: [{ kind: 'text', text }] }, never)

    const first = await ask('a')
    clock.advance(299_999)
    expect(await ask('a')).to.equal(first)
    expect(embedder.calls).to.equal(1)
    await ask('b')
    await ask('a', 'low water')
    expect(embedder.calls).to.equal(3)

    clock.advance(1)
    await ask('a')
    expect(embedder.calls).to.equal(4)
  })

  it('stay within their entries and bytes, and the least recently asked go first', async () => {
    const embedder = new CountingEmbedder()
    const limits = { ttlMs: 1_000, entriesMax: 3, bytesMax: 100_000 }
    const vectors = new QueryVectors(new ManualClock(), limits)
    const ask = (key: string): Promise<Float32Array> =>
      vectors.vectorOf({ embedder, key, parts }, never)

    for (const key of ['a', 'b', 'c', 'a', 'd']) await ask(key)
    expect([vectors.size, embedder.calls]).to.deep.equal([3, 4])
    await ask('a')
    expect(embedder.calls).to.equal(4)
    await ask('b')
    expect(embedder.calls).to.equal(5)

    embedder.dimension = 12_000
    for (const key of ['e', 'f', 'g']) await ask(key)
    expect(vectors.bytes).to.be.at.most(100_000)
    expect(vectors.size).to.equal(2)
  })

  it('are not kept when embedding fails', async () => {
    const embedder = new CountingEmbedder()
    embedder.isSilent = true
    const vectors = new QueryVectors(new ManualClock())
    const stop = new AbortController()
    const asked = failureOf(vectors.vectorOf({ embedder, key: 'a', parts }, stop.signal))

    stop.abort(new Error('enough'))

    expect(await asked).to.have.property('message', 'enough')
    expect(vectors.size).to.equal(0)
  })
})
