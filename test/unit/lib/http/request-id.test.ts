import { expect } from 'chai'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { prepareBooks, startApi } from '../../../contract/api-harness.ts'

const LOOKUP = '/api/v1/tables/books/lookup/book%2F1'

describe('RequestIds', () => {
  it('uses the id that the client sent, in any case of the header', () => {
    const ids = new RequestIds(seededRandom(1))

    expect(ids.of(['Host', 'localhost', 'X-Request-Id', 'a.b/c:1'])).to.equal('a.b/c:1')
    expect(ids.of(['x-request-id', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'])).to.match(/^6ba7/)
  })

  const unfit: Readonly<Record<string, string>> = {
    'an empty id': '',
    'a long id': 'x'.repeat(129),
    'white space': 'a b',
    quotes: 'a"b',
    'letters beyond ASCII': 'é',
  }
  for (const [what, id] of Object.entries(unfit)) {
    it(`makes a new one instead of ${what}`, () => {
      const made = new RequestIds(seededRandom(1)).of(['x-request-id', id])

      expect(made).to.match(/^[0-9a-z]{6}-1$/)
    })
  }

  it('makes no id twice', () => {
    const ids = new RequestIds(seededRandom(1))
    const made = Array.from({ length: 1000 }, () => ids.of([]))

    expect(new Set(made).size).to.equal(1000)
  })
})

describe('the answers of the API', () => {
  const requests = {
    'a lookup': { method: 'GET', path: LOOKUP },
    'a lookup through the front door': { method: 'GET', path: `${LOOKUP}?fields=title` },
    'a batch': { method: 'POST', path: '/api/v1/tables/books/batch', body: '{"inserts":{}}' },
    'a scan': { method: 'POST', path: '/api/v1/tables/books/lookup', body: '{}' },
    'what is refused': { method: 'GET', path: LOOKUP, headers: { origin: 'http://elsewhere.org' } },
    'what is astray': { method: 'GET', path: '/api/v1/nowhere' },
    'what is malformed': { method: 'POST', path: '/api/v1/tables/books/batch', body: '{' },
  } as const
  for (const [what, request] of Object.entries(requests)) {
    it(`carry the id of the request: ${what}`, async () => {
      await using api = await startApi()
      await prepareBooks(api)
      const own = 'headers' in request ? request.headers : {}

      const named = await api.send({ ...request, headers: { ...own, 'X-Request-ID': 'trace/7' } })
      const unnamed = await api.send(request)

      expect(named.headers['x-request-id']).to.equal('trace/7')
      expect(unnamed.headers['x-request-id']).to.match(/^[0-9a-z]{6}-\d+$/)
    })
  }
})
