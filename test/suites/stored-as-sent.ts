// What a client sends comes back as it was sent: a table's schema and its documents.

import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = '/api/v1/tables/people'
const DOCUMENT_SCHEMAS = { p: { schema: { properties: { name: { type: 'string' } } } } }

/** What a client sends, wherever the store runs. */
export function describeStoredAsSent(place: StorePlace): void {
  describe(`what a client sends, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
    })

    afterEach(() => client.succeed('DELETE', TABLE))

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    async function schema() {
      return JSON.parse((await client.succeed('GET', TABLE)).text).schema
    }

    const schemas = {
      'without settings': {},
      'with types alone': { default_type: 'p', document_schemas: DOCUMENT_SCHEMAS },
      'with settings that are the defaults': { enforce_types: false, ttl_field: '_timestamp' },
      'with templates': {
        dynamic_templates: [
          { match: 'a*', mapping: { type: 'keyword' } },
          { match: 'b*', mapping: { type: 'text', include_in_all: true, store: false } },
        ],
      },
    }
    for (const [kind, sent] of Object.entries(schemas)) {
      it(`as a schema ${kind} comes back without additions`, async () => {
        await client.createTable('people', { schema: sent })
        const created = await schema()
        await client.succeed('PUT', `${TABLE}/schema`, sent)

        expect(created).to.deep.equal({ version: 0, ...sent })
        expect(await schema()).to.deep.equal({ version: 0, ...sent })
      })
    }

    it('as a schema has the same version with its defaults written out', async () => {
      await client.createTable('people', { schema: { document_schemas: DOCUMENT_SCHEMAS } })
      const written = { enforce_types: false, ttl_field: '_timestamp' }
      await client.succeed('PUT', `${TABLE}/schema`, {
        document_schemas: DOCUMENT_SCHEMAS,
        ...written,
      })

      expect((await schema()).version).to.equal(0)
    })

    it('as a document keeps every byte, with a _type in front if it had none and there is a default', async () => {
      await client.createTable('people', {
        schema: { default_type: 'p', document_schemas: DOCUMENT_SCHEMAS },
      })
      const body = '{"inserts":{"a":{"name":"x","n":1.50e1},"b":{"n":1.0,"_type":"p"}}}'
      await client.succeed('POST', `${TABLE}/batch`, body)

      const texts = ['a', 'b'].map(async (key) => {
        return (await client.succeed('GET', `${TABLE}/lookup/${key}`)).text
      })
      expect(await Promise.all(texts)).to.deep.equal([
        '{"_type":"p","name":"x","n":1.50e1}',
        '{"n":1.0,"_type":"p"}',
      ])
    })
  })
}
