// `consistency` where each shard has one replica, and how the command line and the TypeScript client ask for it.

import { expect } from 'chai'
import { NotFoundError } from '../../clients/typescript/src/errors.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { startApi, type Api, type Received } from '../contract/api-harness.ts'
import { errorOf } from '../support/error-of.ts'
import { ServiceDouble } from './cli-service-double.ts'
import { runCommand } from './cli-session.ts'

const BOOKS = '/api/v1/tables/books'
const QUERY = JSON.stringify({ full_text_search: { match: 'sea', field: 'title' } })

async function startBooks(): Promise<Api> {
  const api = await startApi({ isSearched: true })
  await api.send({ method: 'POST', path: BOOKS, body: '{"num_shards":2}' })
  const inserts = { a: { title: 'Sea charts' }, z: { title: 'The sea' } }
  const body = JSON.stringify({ inserts, sync_level: 'full_text' })
  await api.send({ method: 'POST', path: `${BOOKS}/batch`, body })
  return api
}

describe('consistency in swarm mode', () => {
  let api: Api
  const read = (path: string, body?: string): Promise<Received> =>
    api.send({ method: body === undefined ? 'GET' : 'POST', path, ...(body && { body }) })

  before(async () => {
    api = await startBooks()
  })

  after(() => api[Symbol.asyncDispose]())

  it('of stale reads is that of the newest documents, whose age is 0', async () => {
    const looked = await read(`${BOOKS}/lookup/a?consistency=stale`)
    const missing = await read(`${BOOKS}/lookup/b?consistency=stale`)
    const scanned = await read(`${BOOKS}/lookup?consistency=stale`, '{}')
    const queried = await read(`${BOOKS}/query?consistency=stale`, QUERY)

    expect([looked.status, missing.status, scanned.status]).to.deep.equal([200, 404, 200])
    for (const { headers } of [looked, missing, scanned]) {
      expect(headers['x-service-staleness']).to.equal('0')
    }
    expect(scanned.body.trim().split('\n')).to.have.length(2)
    const [result] = JSON.parse(queried.body).responses
    expect(result).to.nested.include({ staleness: 0, 'hits.total': 2 })
  })

  it('says no age unless it is asked for stale reads', async () => {
    for (const parameters of ['', '?consistency=linearizable']) {
      const looked = await read(`${BOOKS}/lookup/a${parameters}`)
      const scanned = await read(`${BOOKS}/lookup${parameters}`, '{}')
      const queried = await read(`${BOOKS}/query${parameters}`, QUERY)

      expect([looked.status, scanned.status]).to.deep.equal([200, 200])
      expect(looked.headers).not.to.have.property('x-service-staleness')
      expect(scanned.headers).not.to.have.property('x-service-staleness')
      expect(JSON.parse(queried.body).responses[0]).not.to.have.property('staleness')
    }
  })

  it('is refused if it is neither of the two', async () => {
    const parameters = '?consistency=fresh'
    const refused = [
      await read(`${BOOKS}/lookup/a${parameters}`),
      await read(`${BOOKS}/lookup${parameters}`, '{}'),
      await read(`${BOOKS}/query${parameters}`, QUERY),
    ]

    for (const { status, body } of refused) {
      expect(status).to.equal(400)
      expect(JSON.parse(body)).to.include({ code: 'INVALID_ARGUMENT' })
    }
  })

  it('is what the TypeScript client asks for, and the age what it tells', async () => {
    const store = new StoreClient({ baseUrl: api.url })
    const stale = { consistency: 'stale' } as const

    const looked = await store.lookupDocument('books', 'a', stale)
    const missing = await store.lookupDocument('books', 'b', stale)
    const searched = await store.searchTable('books', { q: 'sea', ...stale })
    const queried = await store.queryTable('books', JSON.parse(QUERY), stale)
    const [global] = await store.queryGlobal([{ table: 'books', ...JSON.parse(QUERY) }], stale)

    expect(looked).to.deep.include({ document: { title: 'Sea charts' }, staleness: 0 })
    expect(missing).to.include({ document: undefined, staleness: 0 })
    for (const result of [searched, queried, global]) expect(result).to.include({ staleness: 0 })
    expect(await store.lookupDocument('books', 'a')).not.to.have.property('staleness')
    const gone = await errorOf(() => store.lookupDocument('none', 'a', stale))
    expect(gone).to.be.instanceOf(NotFoundError)
  })
})

describe('consistency on the wire', () => {
  const answers: Readonly<Record<string, string>> = {
    '/tables/books/query': '{"responses":[{"status":200,"took":1,"hits":{"total":0,"hits":[]}}]}',
    '/tables/books/lookup': '',
    '/tables/books/lookup/a': '{"title":"Sea"}',
  }

  /** The paths that were asked for: a search without hits is tried in other words. */
  async function asked(act: (url: string) => Promise<unknown>): Promise<readonly string[]> {
    await using double = await ServiceDouble.open()
    double.intervene = ({ path }) => ({
      status: 200,
      body: answers[path.split('?')[0] ?? ''] ?? '',
    })
    await act(double.url)
    return [...new Set(double.seen.map(({ path }) => path))]
  }

  const lines: Readonly<Record<string, readonly string[]>> = {
    '/tables/books/lookup/a': ['lookup', 'books', 'a'],
    '/tables/books/lookup': ['scan', 'books'],
    '/tables/books/query': ['query', 'books', 'sea'],
  }

  for (const [path, line] of Object.entries(lines)) {
    it(`is stale for "quarry ${line.join(' ')} --stale" alone`, async () => {
      const stale = await asked((url) => runCommand([...line, '--stale'], { url }))
      const usual = await asked((url) => runCommand(line, { url }))

      expect(stale).to.deep.equal([`${path}?consistency=stale`])
      expect(usual).to.deep.equal([path])
    })
  }

  it('is in the scans of the TypeScript client', async () => {
    const paths = await asked((url) =>
      Array.fromAsync(
        new StoreClient({ baseUrl: url }).scanTable('books', {}, { consistency: 'stale' }),
      ),
    )

    expect(paths).to.deep.equal(['/tables/books/lookup?consistency=stale'])
  })
})
