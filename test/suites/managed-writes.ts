// Writes that wait for the vectors that the store makes of their documents, and queries that find them.

import { expect } from 'chai'
import { send } from '../contract/api-harness.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { doubleVector, ProviderServer } from '../support/servers/providers/provider-server.ts'
import type { Fault } from '../support/servers/providers/provider-server.ts'
import { quarryDouble, type WireDouble } from '../support/servers/providers/wire-doubles.ts'

const REFUSED = 'unembeddable'
const AWAY: Fault = { kind: 'status', status: 500 }

/** A model that refuses a text. */
const MODEL: WireDouble = {
  ...quarryDouble,
  textsOf: (request) => {
    const texts = quarryDouble.textsOf(request)
    if (texts.includes(REFUSED)) throw new Error('a text is refused')
    return texts
  },
}

function write(text: string): object {
  return { inserts: { [text]: { text } } }
}

/** Writes with vectors, wherever the store runs. */
export function describeManagedWrites(place: StorePlace): void {
  describe(`a write that waits for vectors, of ${place.name}`, () => {
    let running: StoreUnderTest
    let model: ProviderServer
    let table = ''
    let tables = 0

    before(async () => {
      model = await ProviderServer.start(MODEL)
      running = await place.open()
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
    })

    beforeEach(async () => {
      table = `notes-${tables++}`
      await create(table)
    })

    async function create(name: string) {
      const embedder = { provider: 'quarry', model: 'm', url: model.url }
      const meaning = { type: 'embeddings', field: 'text', engine: 'exact', embedder }
      const created = await call('POST', `/tables/${name}`, { num_shards: 3, indexes: { meaning } })
      expect(created.status, JSON.stringify(created.body)).to.equal(201)
      model.received.length = 0
    }

    async function call(method: string, at: string, body?: unknown) {
      const answer = await send(running.api, {
        method,
        path: `/api/v1${at}`,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return {
        status: answer.status,
        body: answer.body === '' ? undefined : JSON.parse(answer.body),
      }
    }

    const batch = (body: object, sync_level = 'enrichments') =>
      call('POST', `/tables/${table}/batch`, { sync_level, ...body })
    const documentOf = async (key: string) =>
      (await call('GET', `/tables/${table}/lookup/${key}?fields=text,_embeddings`)).body
    const stored = async (key: string) => {
      const { _embeddings: embeddings } = await documentOf(key)
      return embeddings.meaning
    }
    const embeddedTexts = (): readonly string[] =>
      model.received.flatMap((request) => MODEL.textsOf(request))

    async function askAway(query: object) {
      model.failNext(AWAY)
      const { status, body } = await call('POST', `/tables/${table}/query`, query)
      return { status, ...(body.responses?.[0] ?? body) }
    }

    it('commits documents with their vectors, of several shards in one transaction', async () => {
      const inserts = Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [`${'agt'[at % 3]}${at}`, { text: `tide ${at}` }]),
      )

      expect(await batch({ inserts })).to.include({ status: 201 })

      for (const [key, { text }] of Object.entries(inserts)) {
        expect(await stored(key)).to.deep.equal(doubleVector(text))
      }
    })

    it('writes nothing when the model is away, and names document and index', async () => {
      model.failNext(AWAY)

      const failed = await batch({ inserts: { a: { text: 'tide' }, t: { text: 'ebb' } } })

      expect(failed.status).to.equal(503)
      expect(failed.body.error).to.match(/^document .*a.*: index "meaning": quarry m: .*500/)
      expect([await documentOf('a'), await documentOf('t')].map((one) => one.text)).to.deep.equal([
        undefined,
        undefined,
      ])
    })

    it('writes nothing when the model refuses one document of many', async () => {
      const inserts = { a: { text: 'tide' }, t: { text: REFUSED } }

      const failed = await batch({ inserts })

      expect(failed.status).to.equal(400)
      expect(failed.body.error).to.match(/^document .*t.*: index "meaning": quarry m: .*refused/)
      expect((await call('GET', `/tables/${table}/lookup/a`)).status).to.equal(404)
    })

    it('refuses a document whose field is not a string', async () => {
      const failed = await batch({ inserts: { a: { text: 7 } } })

      expect(failed.status).to.equal(400)
      expect(failed.body.error).to.match(
        /document .*a.*index "meaning": field "text" must be a string/,
      )
      expect((await call('GET', `/tables/${table}/lookup/a`)).status).to.equal(404)
    })

    it('embeds nothing that is embedded already', async () => {
      await batch({ inserts: { a: { text: 'tide' } } })
      model.received.length = 0

      await batch({ inserts: { a: { text: 'tide', more: 1 }, b: { text: 'ebb' } } })

      expect(embeddedTexts()).to.deep.equal(['ebb'])
      expect(await stored('a')).to.deep.equal(doubleVector('tide'))
    })

    it('embeds anew what was deleted in the same request', async () => {
      await batch({ inserts: { a: { text: 'tide' } } })

      await batch({ deletes: ['a'], inserts: { a: { text: 'ebb' } } })

      expect(await stored('a')).to.deep.equal(doubleVector('ebb'))
    })

    it('embeds what transforms make of documents', async () => {
      await batch({ inserts: { a: { text: 'tide', n: 1 } } })
      const transforms = [
        { key: 'a', operations: [{ op: '$set', path: 'text', value: 'high tide' }] },
        { key: 'a', operations: [{ op: '$inc', path: 'n', value: 1 }] },
        { key: 'new', operations: [{ op: '$set', path: 'text', value: 'made' }], upsert: true },
        { key: 'none', operations: [{ op: '$set', path: 'text', value: 'lost' }] },
      ]

      const written = await batch({ inserts: { b: { text: 'b' } }, transforms })

      expect(written.status, JSON.stringify(written.body)).to.equal(201)
      expect(await stored('a')).to.deep.equal(doubleVector('high tide'))
      expect(await stored('new')).to.deep.equal(doubleVector('made'))
      expect((await call('GET', `/tables/${table}/lookup/a`)).body).to.include({ n: 2 })
      expect((await call('GET', `/tables/${table}/lookup/none`)).status).to.equal(404)
    })

    it('counts every transform once, however many clients change a document', async () => {
      await batch({ inserts: { a: { text: 'tide', n: 0 } } })
      const add = () =>
        batch({ transforms: [{ key: 'a', operations: [{ op: '$inc', path: 'n', value: 1 }] }] })

      const answers = await Promise.all(Array.from({ length: 5 }, add))

      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 201))
      expect((await call('GET', `/tables/${table}/lookup/a`)).body).to.include({ n: 5 })
    })

    it('serves all requests that write', async () => {
      const other = `${table}-other`
      await create(other)
      const sync_level = 'enrichments'
      const requests: readonly (readonly [string, object])[] = [
        ['/batch', { sync_level, tables: { [table]: write('one'), [other]: write('two') } }],
        ['/transactions/commit', { sync_level, read_set: [], tables: { [table]: write('three') } }],
        [`/tables/${table}/merge`, { sync_level, records: { four: { text: 'four' } } }],
      ]
      for (const [at, body] of requests) {
        model.failNext(AWAY)
        const failed = await call('POST', at, body)
        expect(failed.status, `${at} ${JSON.stringify(failed.body)}`).to.equal(503)
      }
      expect((await call('GET', `/tables/${table}/lookup/one`)).status).to.equal(404)

      for (const [at, body] of requests) {
        const written = await call('POST', at, body)
        expect(written.status, `${at} ${JSON.stringify(written.body)}`).to.be.oneOf([200, 201])
      }
      expect(await stored('four')).to.deep.equal(doubleVector('four'))
    })

    it('goes without vectors at the level aknn when the model is away', async () => {
      model.failNext(AWAY)

      const written = await batch({ inserts: { a: { text: 'tide' } } }, 'aknn')

      expect(written.status).to.equal(201)
      expect(await documentOf('a')).to.include({ text: 'tide' })
    })

    for (const level of ['aknn', 'embeddings', 'full_index']) {
      it(`is found by meaning when it is answered at the level ${level}`, async () => {
        await batch({ inserts: { a: { text: 'aa' }, b: { text: 'bbbbbbbbb' } } }, level)

        const { body } = await call('POST', `/tables/${table}/query`, {
          semantic_search: 'ab',
          indexes: ['meaning'],
          limit: 1,
        })

        const [{ hits }] = body.responses
        expect(hits.hits).to.have.lengthOf(1)
        expect(hits.hits[0]).to.include({ _id: 'a' })
      })
    }

    it('has queries fail by name, or answer by words, while the model is away', async () => {
      await batch({ inserts: { a: { text: 'tide' } } }, 'full_index')
      const semantic = { semantic_search: `tide ${Math.random()}`, indexes: ['meaning'] }
      const words = { full_text_search: { query: 'text:tide' } }

      const alone = await askAway(semantic)
      const merged = await askAway({ ...semantic, ...words })
      const failover = await askAway({
        ...semantic,
        ...words,
        merge_config: { strategy: 'failover' },
      })

      for (const one of [alone, merged]) {
        expect(one).to.include({ code: 'UNAVAILABLE', status: 503 })
        expect(one.error).to.match(/quarry m: .*500/)
      }
      expect(failover.hits.hits[0]).to.include({ _id: 'a' })
      expect(failover.warnings.join()).to.match(
        /failover: index "meaning" did not answer: quarry m/,
      )
    })

    it('fills a template with what a query looks for', async () => {
      await batch({ inserts: { a: { text: 'tide' } } }, 'full_index')
      model.received.length = 0

      const { body } = await call('POST', `/tables/${table}/query`, {
        semantic_search: 'sea',
        embedding_template: 'query: {{this}}',
        indexes: ['meaning'],
      })

      expect(body.responses[0].hits.total).to.equal(1)
      expect(embeddedTexts()).to.deep.equal(['query: sea'])
    })
  })
}
