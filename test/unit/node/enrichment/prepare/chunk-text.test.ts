import { expect } from 'chai'
import { chunkText } from '../../../../../node/enrichment/prepare/chunk-text.ts'
import type { Chunker } from '../../../../../node/providers/contract/provider.ts'
import { errorOf } from '../../../../support/error-of.ts'

const { signal } = new AbortController()
const LETTERS = 300_000

/** A chunk for each letter, and so many for a text at most. */
function letterChunker(chunksMax: number): Chunker {
  return {
    name: 'letters',
    chunk: async (text) =>
      text
        .slice(0, chunksMax)
        .split('')
        .map((letter, at) => ({ text: letter, start: at, end: at + 1 })),
    close: async () => undefined,
  }
}

describe('the chunks of a text', () => {
  it('end where they were told to', async () => {
    const options = { chunker: letterChunker(3), chunksMax: 3, signal }

    const chunks = await chunkText('abcdef', options)

    expect(chunks.map(({ text }) => text)).to.deep.equal(['a', 'b', 'c'])
  })

  it('are not cut off where nobody said so: a text of more than are kept is refused', async () => {
    const options = { chunker: letterChunker(10_000), chunksMax: undefined, signal }
    const letters = (count: number): Promise<unknown> => chunkText('a'.repeat(count), options)

    expect(await letters(10_000)).to.have.length(10_000)
    for (const count of [10_001, LETTERS, LETTERS + 5]) {
      const error = await errorOf(() => letters(count))
      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error)
        .to.have.property('message')
        .that.matches(/more than 10000 chunks.*text\.target_tokens.*max_chunks/)
    }
  })
})
