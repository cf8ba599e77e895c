// Many calls of one embedder while its server fails in every way. Each ends, and nothing of them is left.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { parseEmbedderConfig } from '../../node/providers/config/parse-embedder-config.ts'
import { isProviderError } from '../../node/providers/contract/provider-error.ts'
import { openProviders } from '../support/servers/providers/opened-providers.ts'
import {
  DIMENSION,
  ProviderServer,
  doubleVector,
} from '../support/servers/providers/provider-server.ts'
import type { Fault } from '../support/servers/providers/provider-server.ts'
import { openaiDouble } from '../support/servers/providers/wire-doubles.ts'

const seed = Number(process.env['QUARRY_TEST_SEED'] ?? 1)
const CALLS = 300
/** Without 429: provider-pace.test.ts has a clock of its own for what follows from it. */
const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 500 },
  { kind: 'echo' },
  { kind: 'silent' },
  { kind: 'endless' },
  { kind: 'wrong-count' },
  { kind: 'wrong-dimension' },
  { kind: 'not-finite' },
  { kind: 'not-json' },
  { kind: 'reset-before' },
  { kind: 'reset-within' },
]

describe(`an embedder in a storm (QUARRY_TEST_SEED=${seed})`, () => {
  it('ends each call with right vectors, an error of its provider, or its own signal', async () => {
    const random = seededRandom(seed)
    await using server = await ProviderServer.start(openaiDouble)
    const providers = openProviders({ timeoutMs: 400 })
    // With a dimension, because a model that answers another one twice is taken for another model.
    const config = { provider: 'openai', url: server.url, api_key: 'key', dimension: DIMENSION }
    const embedder = providers.embedders.borrow(parseEmbedderConfig(config, 'e'))
    const never = new AbortController().signal
    const embed = (text: string, signal: AbortSignal): Promise<readonly Float32Array[]> =>
      embedder.embed([[{ kind: 'text', text }]], { signal, use: 'document' })
    await embed('known', never)
    const ends = { right: 0, failed: 0, left: 0 }

    async function call(index: number): Promise<void> {
      const text = `text ${index}`
      const own = new AbortController()
      if (random() < 0.5) server.failNext(pick(FAULTS, random))
      // Within the call, as a client that goes away: after so many turns of the event loop.
      if (random() < 0.1) void turns(Math.floor(random() * 20)).then(() => own.abort('gone'))
      try {
        const [vector] = await embed(text, own.signal)
        expect([...must(vector, 'a vector')]).to.deep.equal(doubleVector(text))
        ends.right += 1
      } catch (error) {
        if (error === 'gone') ends.left += 1
        else if (isProviderError(error)) ends.failed += 1
        else throw error
      }
    }

    let next = 0
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (next < CALLS) await call(next++)
      }),
    )

    expect(ends.right + ends.failed + ends.left).to.equal(CALLS)
    expect(Math.min(ends.right, ends.failed, ends.left)).to.be.above(5)
    expect([...must((await calm(embed))[0], 'a vector')]).to.deep.equal(doubleVector('calm'))
    await providers[Symbol.asyncDispose]()
  }).timeout(100_000)
})

/** Until no fault of the storm is left at the server. */
async function calm(
  embed: (text: string, signal: AbortSignal) => Promise<readonly Float32Array[]>,
): Promise<readonly Float32Array[]> {
  for (;;) {
    try {
      return await embed('calm', new AbortController().signal)
    } catch (error) {
      if (!isProviderError(error)) throw error
    }
  }
}

function pick<Value>(values: readonly Value[], random: Random): Value {
  return must(values[Math.floor(random() * values.length)], 'one of the values')
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
}
