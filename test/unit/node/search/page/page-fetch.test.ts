import { SPECIAL_KEYS_MAX } from '../../../../../node/reads/special/special-reader.ts'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../../lib/clock.ts'
import { RequestMemory } from '../../../../../lib/http/request-memory.ts'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import { fetchPage, PAGE_BYTES_MAX } from '../../../../../node/search/page/page-fetch.ts'
import type { PageFetchOptions } from '../../../../../node/search/page/page-fetch.ts'
import { parseProjection } from '../../../../../node/document/projection.ts'
import { encodeRecord } from '../../../../../node/shard/format/document-record.ts'
import { errorOf } from '../../../../support/error-of.ts'

const HEADER = { version: timestampOf(7n), deleted: false, ttlGeneration: 0, expiresAtMs: 0 }
const MIB = 2 ** 20
const LARGE = encodeRecord(HEADER, Buffer.from(JSON.stringify({ n: 1, text: 'x'.repeat(8 * MIB) })))

const options: PageFetchOptions = {
  clock: new ManualClock(),
  request: { projection: undefined, order: [], fullText: undefined },
  mark: undefined,
  read: () => LARGE,
  memory: undefined,
}

const pageOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: Buffer.from(`k${i}`), score: 1, sortValues: [] }))

const huge = async (): Promise<readonly string[]> => ['x'.repeat(PAGE_BYTES_MAX)]

describe('the documents of a page', () => {
  it('are the stored bytes', async () => {
    const [hit] = await fetchPage(options, pageOf(1))
    const { _source: source } = hit ?? {}

    expect(source?.buffer).to.equal(LARGE.buffer)
  })

  it('are charged to the memory of the request', async () => {
    const budget = new RequestMemory({ bytesMax: 20 * MIB, clock: systemClock })

    const memory = budget.hold()
    await fetchPage({ ...options, memory }, pageOf(2))
    const error = await errorOf(() => fetchPage({ ...options, memory }, pageOf(1)))

    expect(budget.heldBytes).to.be.within(16 * MIB, 17 * MIB)
    expect(error).to.include({ code: 'OVERLOADED' })
  })

  it('are refused beyond a number of bytes, with advice', async () => {
    const error = await errorOf(() => fetchPage(options, pageOf(PAGE_BYTES_MAX / (8 * MIB))))

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(error)).to.match(/limit: .* more than 64 MiB; ask for fewer hits/)
  })

  it('get what indexes keep of them behind their other members, which counts as well', async () => {
    const request = { ...options.request, projection: parseProjection(['n']) }
    const asked: number[] = []
    const read = async (keys: readonly Buffer[]): Promise<readonly string[]> => {
      asked.push(keys.length)
      return keys.map((key) => (key.length === 2 ? `{"_embeddings":"${key.toString()}"}` : '{}'))
    }

    const hits = await fetchPage(
      { ...options, request, special: { hasBody: true, read } },
      pageOf(100),
    )
    const bare = await fetchPage({ ...options, special: { hasBody: false, read } }, pageOf(1))
    const special = { hasBody: false, read: huge }
    const error = await errorOf(() => fetchPage({ ...options, special }, pageOf(1)))

    const sources = hits.map(({ _source: source }) => source.toString())
    expect(sources.slice(9, 11)).to.deep.equal(['{"n":1,"_embeddings":"k9"}', '{"n":1}'])
    expect(Math.max(...asked)).to.equal(SPECIAL_KEYS_MAX)
    expect(asked.reduce((sum, keys) => sum + keys)).to.equal(101)
    expect(String(bare[0]?.['_source'])).to.equal('{"_embeddings":"k0"}')
    expect(String(error)).to.include('limit: the documents of this page')
  })

  it('count with the bytes that a projection leaves', async () => {
    const request = { ...options.request, projection: parseProjection(['n']) }

    const hits = await fetchPage({ ...options, request }, pageOf(10))

    expect(hits.map(({ _source: source }) => source.toString())).to.deep.equal(
      Array(10).fill('{"n":1}'),
    )
  })
})
