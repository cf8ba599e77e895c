// A table's language, stop words and synonyms through the API, over two shards.

import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { until } from '../support/until.ts'

const TABLE = '/api/v1/tables/shops'
/** A migration of so many documents takes longer than a question about it. */
const OTHERS = 5000
const DOCUMENTS = {
  a: { title: 'televisions and radios', de: 'Häuser' },
  z: { title: 'the tv on the wall', de: 'das Haus' },
}

/** The text settings of a table, wherever the store runs. */
export function describeTextSettings(place: StorePlace): void {
  describe(`the text settings of a table, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
    })

    beforeEach(async () => {
      await client.createTable('shops', { split_keys: ['m'] })
      await client.batch('shops', { inserts: DOCUMENTS, sync_level: 'full_text' })
    })

    afterEach(() => client.succeed('DELETE', TABLE))

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    async function keys(query: object): Promise<readonly string[]> {
      const { text } = await client.succeed('POST', `${TABLE}/query`, { full_text_search: query })
      const { hits } = JSON.parse(text).responses[0].hits
      return hits.map(({ _id }: { readonly _id: string }) => _id)
    }

    async function table() {
      return JSON.parse((await client.succeed('GET', TABLE)).text)
    }

    const setSchema = (schema: object) => client.succeed('PUT', `${TABLE}/schema`, schema)

    it('has synonyms that hold for the next search, without a migration', async () => {
      await setSchema({ synonyms: [['tv', 'televisions']] })
      const found = await keys({ match: 'tv' })
      const { migration } = await table()
      const answer = await setSchema({ synonyms: [] })

      expect(found).to.have.members(['a', 'z'])
      expect(migration).to.equal(undefined)
      expect(JSON.parse(answer.text).schema.version).to.equal(0)
      expect(await keys({ match: 'tv' })).to.deep.equal(['z'])
    })

    it('shows the migration to another language, and answers meanwhile', async () => {
      const others = countTo(OTHERS).map((n) => [`other ${n}`, { text: `text ${n}` }])
      const inserts = Object.fromEntries(others)
      await client.batch('shops', { inserts, sync_level: 'full_text' })
      await setSchema({ language: 'german' })
      const during = await table()
      const meanwhile = await keys({ match: 'haus' })
      await until(async () => (await table()).migration === undefined)

      // Several nodes answer when all of them know the schema; the migration may be over then.
      const shown = during.migration ?? { indexes: ['full_text_index_v0'], progress: 1 }
      expect(during.migration !== undefined || store.dataDirs.length > 1).to.equal(true)
      expect(shown.indexes).to.deep.equal(['full_text_index_v0'])
      expect(shown.progress).to.be.within(0, 1)
      expect(meanwhile).to.include('z')
      expect(await keys({ match: 'haus' })).to.have.members(['a', 'z'])
      expect(await keys({ match: 'das' })).to.deep.equal([])
    })

    const refusals: readonly (readonly [object, string])[] = [
      [{ language: 'klingon' }, 'language'],
      [{ stop_words: ['two words'] }, 'stop_words[0]'],
      [{ stop_words: 'klingon' }, 'stop_words'],
      [{ synonyms: [['tv', 'television'], ['alone']] }, 'synonyms[1]'],
      [{ synonyms: [{ from: ['tv'] }] }, 'synonyms[0]'],
    ]
    for (const [schema, at] of refusals) {
      it(`refuses ${JSON.stringify(schema)} and names the place`, async () => {
        const { status, text } = await client.send('PUT', `${TABLE}/schema`, schema)

        expect(status, text).to.equal(400)
        expect(JSON.parse(text).error).to.include(at)
      })
    }
  })
}
