import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../../lib/errors.ts'
import { EventLoopTurns } from '../../../../node/search/tables/event-loop-turns.ts'
import { queryTable } from '../../../../node/search/table-query.ts'
import type { QueriedShard } from '../../../../node/search/tables/queried-table.ts'
import type { QueryHit, QueryResult } from '../../../../node/search/run/query-result.ts'
import { parseExact, type JsonObject } from '../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../node/document/json-object.ts'
import { parseQueryRequest } from '../../../../node/query/request/query-request.ts'
import { TextShard } from '../../../support/fakes/text-shard.ts'

const clock = new ManualClock()

/** The shard of a key is chosen by its first character, from "a" on. */
function ask(
  shards: readonly QueriedShard[],
  body: JsonObject | string,
  signal = new AbortController().signal,
): Promise<QueryResult> {
  const [first = new TextShard({})] = shards
  const table = {
    name: 'books',
    schema: undefined,
    textIndexes: ['full_text'],
    vectorIndexes: [],
    shards,
    shardOf: (key: Buffer) => shards[(key[0] ?? 97) - 97] ?? first,
  }
  const value = typeof body === 'string' ? parseExact(body) : body
  return queryTable({ clock, turns: new EventLoopTurns() }, table, {
    request: parseQueryRequest(value),
    signal,
  })
}

function sortOf(hit: QueryHit | undefined): string[] {
  const { _sort: sort = [] } = hit ?? {}
  return [...sort]
}

function sourceOf({ hits }: QueryResult): JsonObject | undefined {
  const [json] = hits.hits.map(({ _source: text }) => text)
  const source = json === undefined ? undefined : parseExact(json)
  return isJsonObject(source) ? source : undefined
}

const never = (): Promise<never> => new Promise(() => undefined)
const idsOf = ({ hits }: QueryResult): readonly string[] => hits.hits.map(({ _id: id }) => id)

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const outcome = await promise.catch((error: unknown) => error)
  return isServiceError(outcome) ? `${outcome.code}: ${outcome.message}` : 'no refusal'
}

function failing(shard: QueriedShard, error: Error): QueriedShard {
  const refuse = (): Promise<never> => Promise.reject(error)
  return {
    read: (key) => shard.read(key),
    search: refuse,
  }
}

const DOWN = new ServiceError('UNAVAILABLE', 'shard b is being built')
const LEFT = { a1: { title: 'the sea', n: 1 }, a2: { title: 'sea sea sea', n: 5 } }
const RIGHT = { b1: { title: 'the sea and roads', n: 3 }, b2: { title: 'roads', n: 4 } }

describe('a query over shards', () => {
  const shards = [new TextShard(LEFT), new TextShard(RIGHT)]

  it('scores as one index of all documents does', async () => {
    const together = new TextShard({ ...LEFT, ...RIGHT })
    const body = { full_text_search: { query: 'title:sea title:roads' } }

    const apart = await ask(shards, body)
    const whole = await ask([together, together], body)
    const single = await ask([together], body)

    expect(apart.hits).to.deep.equal(single.hits)
    expect(whole.hits.total).to.equal(2 * single.hits.total)
  })

  it('scores a fuzzy phrase by the terms of all shards', async () => {
    const together = new TextShard({ ...LEFT, ...RIGHT })
    const phrase = { match_phrase: 'sae sea', field: 'title', fuzziness: 2 }
    const body = { full_text_search: phrase, highlight: { fields: ['title'] } }

    const apart = await ask(shards, body)

    expect(idsOf(apart)).to.deep.equal(['a2'])
    expect(apart.hits).to.deep.equal((await ask([together], body)).hits)
    expect(apart.hits.hits[0]).to.have.deep.property('_highlight', {
      title: ['<em>sea</em> <em>sea</em> <em>sea</em>'],
    })
  })

  it('ends hits of words before a jump of their scores, however short the page is', async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        `a${String(i).padStart(2, '0')}`,
        { title: i === 7 || i === 9 ? 'sea chart' : 'sea' },
      ]),
    )
    const body = { full_text_search: { query: 'title:sea title:chart' }, pruner: { autocut: 1 } }
    const of = async (page: object) =>
      idsOf(await ask([new TextShard(texts)], { ...body, ...page }))

    expect(await of({})).to.deep.equal(['a07', 'a09'])
    expect(await of({ limit: 1 })).to.deep.equal(['a07'])
    expect(await of({ limit: 1, offset: 1 })).to.deep.equal(['a09'])
    expect(await of({ limit: 1, offset: 2 })).to.deep.equal([])
  })

  it('leaves out the hits that a pruner drops, and counts them', async () => {
    const full_text_search = { query: 'title:sea title:roads' }

    const whole = await ask(shards, { full_text_search })
    const pruned = await ask(shards, { full_text_search, pruner: { min_score_ratio: 0.99 } })
    const none = await ask(shards, { full_text_search, pruner: { min_score_ratio: 1 }, offset: 1 })

    expect(idsOf(whole)).to.have.lengthOf(4)
    expect(idsOf(pruned)).to.deep.equal(idsOf(whole).slice(0, 1))
    expect(pruned.hits.total).to.equal(4)
    expect(idsOf(none)).to.deep.equal([])
    const scores = { full_text: whole.hits.max_score }
    expect(whole.hits.hits[0]).to.have.deep.property('_index_scores', scores)
    expect((await ask(shards, {})).hits.hits[0]).to.not.have.property('_index_scores')
  })

  it('merges by the keys of the order and pages through all shards', async () => {
    const order_by = [{ field: 'n', desc: true }]
    const first = await ask(shards, { order_by, limit: 2 })
    const search_after = sortOf(first.hits.hits.at(-1))

    const next = await ask(shards, { order_by, limit: 2, search_after })
    const search_before = sortOf(next.hits.hits[0])
    const back = await ask(shards, { order_by, limit: 1, search_before })
    const offset = await ask(shards, { order_by, limit: 2, offset: 1 })

    expect(idsOf(first)).to.deep.equal(['a2', 'b2'])
    expect(idsOf(next)).to.deep.equal(['b1', 'a1'])
    expect(idsOf(back)).to.deep.equal(['b2'])
    expect(idsOf(offset)).to.deep.equal(['b2', 'b1'])
    expect(next.hits.total).to.equal(4)
  })

  it('returns whole documents with all their digits, or the fields asked for', async () => {
    const text = '{"n":9007199254740993,"deep":{"x":1,"y":2}}'
    const document = parseExact(text)
    if (!isJsonObject(document)) throw new Error('an object')
    const shard = new TextShard({ a: document })

    const whole = await ask([shard], {})
    const part = await ask([shard], { fields: ['deep.x', '_timestamp'] })

    expect(JSON.stringify(sourceOf(whole))).to.equal(text)
    expect(sourceOf(part)).to.deep.equal({
      deep: { x: 1 },
      _timestamp: '2023-11-14T22:13:20.000Z',
    })
  })

  it('compares numbers of any length', async () => {
    const body = '{"filter_query":{"min":3.00000000000000000001,"field":"n"},"count":true}'

    // One document has 3 itself.
    expect((await ask(shards, body)).hits.total).to.equal(2)
  })

  it('counts matches without fetching hits', async () => {
    const { hits } = await ask(shards, { count: true })

    expect(hits).to.deep.equal({ total: 4, max_score: 0, hits: [] })
  })

  it('merges aggregations', async () => {
    const aggregations = { total: { type: 'sum', field: 'n' } }

    const result = await ask(shards, { aggregations, limit: 0 })

    expect(result.aggregations).to.deep.equal({ total: { value: 13 } })
  })

  it('warns only about fields that no shard has', async () => {
    const uneven = [new TextShard({ a: { isbn: 'x' } }), new TextShard({ b: { title: 'y' } })]

    const known = await ask(uneven, { full_text_search: { query: 'isbn:x' } })
    const unknown = await ask(uneven, { full_text_search: { query: 'issn:x' } })

    expect(known).not.to.have.property('warnings')
    expect(unknown.warnings).to.deep.equal(['no document has a field "issn"'])
  })

  it('leaves out documents that were deleted since the index was updated', async () => {
    const shard = new TextShard(LEFT)
    shard.deleteUnseen('a1')

    expect(idsOf(await ask([shard], {}))).to.deep.equal(['a2'])
  })

  it('reports a shard that cannot serve, and answers for the others', async () => {
    const [left = new TextShard({}), right = left] = shards
    const body = { full_text_search: { query: 'sea' }, profile: true }

    const result = await ask([left, failing(right, DOWN)], body)

    expect(idsOf(result)).to.deep.equal(['a2', 'a1'])
    expect(result.error).to.equal(
      '1 of 2 shards did not answer, so hits may be missing: shard b is being built',
    )
    expect(result.profile?.shards).to.deep.equal({ total: 2, successful: 1, failed: 1 })
  })

  it('fails when every shard fails', async () => {
    const broken = shards.map((shard) => failing(shard, DOWN))

    expect(await refusalOf(ask(broken, {}))).to.equal('UNAVAILABLE: shard b is being built')
  })

  it('fails as a whole when one shard refuses the query', async () => {
    const body = { order_by: [{ field: 'title' }] }

    expect(await refusalOf(ask(shards, body))).to.match(/^INVALID_ARGUMENT: field "title" is text/)
  })

  it('does not hide an unexpected error behind the answers of other shards', async () => {
    const [left = new TextShard({}), right = left] = shards
    const bug = new TypeError('a bug')

    const outcome = await ask([left, failing(right, bug)], {}).catch((error: unknown) => error)

    expect(outcome).to.equal(bug)
  })

  it('gives up at its deadline and when the client disconnects', async () => {
    const stuck = {
      read: () => undefined,
      search: never,
    }
    const client = new AbortController()

    const late = refusalOf(ask([stuck], { timeout: '50ms' }))
    const gone = refusalOf(ask([stuck], {}, client.signal))
    clock.advance(50)
    client.abort()

    expect(await late).to.equal(
      'DEADLINE_EXCEEDED: the query took longer than 50 ms; narrow it down or give it a longer timeout',
    )
    expect(await gone).to.equal('CANCELLED: the client went away')
  })
})

describe('highlights', () => {
  const mark = { pre: '[', post: ']' }

  async function highlightsOf(document: JsonObject, body: JsonObject) {
    const result = await ask([new TextShard({ a: document })], { highlight: mark, ...body })
    const [{ _highlight: found } = { _highlight: undefined }] = result.hits.hits
    return found
  }

  it('mark words, stems and prefixes where they stand', async () => {
    const document = { title: 'Über SEAS, the sea; and Seaside' }

    const found = await highlightsOf(document, { full_text_search: { query: 'title:sea*' } })
    const bare = await highlightsOf(document, { full_text_search: { query: 'seaside' } })

    expect(found).to.deep.equal({ title: ['Über [SEAS], the [sea]; and [Seaside]'] })
    expect(bare).to.deep.equal({ title: ['Über SEAS, the sea; and [Seaside]'] })
  })

  it('show the best three fragments of a long text in their order', async () => {
    const filler = 'lorem ipsum dolor '.repeat(20)
    const text = ['sea one', 'sea two', 'sea map', 'sea four', 'sea map sea'].join(` ${filler}`)
    const full_text_search = { query: 'text:sea text:map' }

    const found = await highlightsOf({ text }, { full_text_search })
    const fragments = found?.['text'] ?? []

    expect(fragments).to.have.length(3)
    expect(fragments[0]).to.contain('[sea] one')
    expect(fragments[1]).to.contain('[sea] [map]')
    expect(fragments[2]).to.contain('[sea] [map] [sea]')
    for (const fragment of fragments) expect(fragment.length).to.be.lessThan(180)
  })

  it('search lists and nested fields, and only the requested fields', async () => {
    const document = { a: { b: ['no', 'yes sea'] }, c: 'sea' }
    const highlight = { ...mark, fields: ['a.b'] }

    const found = await highlightsOf(document, { full_text_search: { query: 'sea' }, highlight })

    expect(found).to.deep.equal({ 'a.b': ['yes [sea]'] })
  })

  it('mark words in a document whose fields have other types than elsewhere', async () => {
    const shard = new TextShard({ a: { n: 5, t: 'sea' }, b: { n: 'none', t: 'sea' } })
    const full_text_search = { query: 't:sea OR n:>3' }

    const result = await ask([shard], { full_text_search, highlight: mark })

    expect(idsOf(result)).to.have.members(['a', 'b'])
    for (const hit of result.hits.hits) {
      expect(hit).to.have.deep.property('_highlight', { t: ['[sea]'] })
    }
  })

  it('end with the first hundred thousand characters of a document', async () => {
    const filler = 'sand '.repeat(19_000)
    const full_text_search = { query: 'a:seaside b:sea' }
    const long = `${filler}seaside ${filler} seaside`

    const found = await highlightsOf({ a: long, b: 'sea' }, { full_text_search })
    const cut = await highlightsOf(
      { a: `${'x '.repeat(49_998)}seaside` },
      {
        full_text_search: { query: 'a:sea' },
      },
    )

    expect(Object.keys(found ?? {})).to.deep.equal(['a'])
    expect(found?.['a']).to.have.length(1)
    expect(cut).to.equal(undefined)
  })

  it('do not mark words that the query excludes', async () => {
    const full_text_search = { query: '+sea -land' }

    const found = await highlightsOf({ t: 'sea' }, { full_text_search })

    expect(found).to.deep.equal({ t: ['[sea]'] })
  })
})
