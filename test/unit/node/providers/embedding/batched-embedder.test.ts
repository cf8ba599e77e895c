import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { isProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import { BatchedEmbedder } from '../../../../../node/providers/embedding/batched-embedder.ts'
import type { EmbedProtocol } from '../../../../../node/providers/embedding/embed-protocol.ts'
import { errorOf } from '../../../../support/error-of.ts'

const never = new AbortController().signal

/** A model that answers nothing, until it is asked no more. */
const silent: EmbedProtocol = {
  name: 'openai m',
  acceptsImages: false,
  limits: { itemsMax: 8, bytesMax: 1024 },
  form: 'decimal',
  dimension: undefined,
  request: (_items, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
}

describe('an embedder over a protocol', () => {
  it('gives a query up in time for others to answer it, and keeps at documents', async () => {
    const clock = new ManualClock()
    const embedder = new BatchedEmbedder(silent, clock)
    const item = [[{ kind: 'text', text: 'when does the sea rise' } as const]]
    const query = errorOf(() => embedder.embed(item, { use: 'query', signal: never }))
    const document = errorOf(() => embedder.embed(item, { use: 'document', signal: never }))

    clock.advance(15_000)

    const error = await query
    expect(error).to.have.property('message', 'openai m: it embedded no query within 15000 ms')
    expect(isProviderError(error) && error.failure.kind).to.equal('unavailable')
    await embedder.close()
    expect(await document)
      .to.have.property('message')
      .that.includes('closed')
  })
})
