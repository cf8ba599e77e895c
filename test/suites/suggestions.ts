// "Did you mean" through the API, over two shards.

import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = '/api/v1/tables/shops'
const DOCUMENTS = {
  a: { title: 'electric guitar' },
  b: { title: 'guitar strings' },
  z: { title: 'Guitar lessons' },
}

/** Suggestions of a query, wherever the store runs. */
export function describeSuggestions(place: StorePlace): void {
  describe(`suggestions of a query, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      await client.createTable('shops', { split_keys: ['m'] })
      await client.batch('shops', { inserts: DOCUMENTS, sync_level: 'full_text' })
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    const MEANT = [
      {
        text: 'gutiar strings',
        corrected: 'guitar strings',
        words: [
          { text: 'gutiar', offset: 0, length: 6, options: [{ text: 'guitar', doc_freq: 3 }] },
        ],
      },
    ]

    it('come with the answer of a query that requests them', async () => {
      const body = { full_text_search: { query: 'gutiar strings' }, suggest: true }

      const { text } = await client.succeed('POST', `${TABLE}/query`, body)

      expect(JSON.parse(text).responses[0].suggestions).to.deep.equal(MEANT)
    })

    it('have their time in the profile, if they were looked for', async () => {
      const body = { full_text_search: { query: 'gutiar' }, profile: true }
      const phasesOf = async (more: object) => {
        const { text } = await client.succeed('POST', `${TABLE}/query`, { ...body, ...more })
        return JSON.parse(text).responses[0].profile.phases
      }

      expect((await phasesOf({ suggest: true })).suggest).to.be.greaterThan(0)
      expect(await phasesOf({})).to.not.have.property('suggest')
    })

    it('come with the answer of GET with suggest=true', async () => {
      const { text } = await client.succeed('GET', `${TABLE}/query?q=gutiar+strings&suggest=true`)

      expect(JSON.parse(text).responses[0].suggestions).to.deep.equal(MEANT)
    })

    it('come with a search box for a word that no document has, among words that find something', async () => {
      const { text } = await client.succeed('GET', `${TABLE}/query?q=gutiar+strings`)

      const [{ hits, suggestions }] = JSON.parse(text).responses
      expect(hits.total).to.be.above(0)
      expect(suggestions).to.deep.equal(MEANT)
    })

    for (const asked of [
      'gutiar+strings&suggest=false',
      'guitar+strings',
      'guitar+stri',
      'guitar+-zzgutiar',
    ]) {
      it(`do not come with a search box that asks for "${asked}"`, async () => {
        const { text } = await client.succeed('GET', `${TABLE}/query?q=${asked}`)

        expect(JSON.parse(text).responses[0]).to.not.have.property('suggestions')
      })
    }

    it('are not computed for a query without a request', async () => {
      const body = { full_text_search: { simple: { query: 'gutiar strings' } } }
      const { text } = await client.succeed('POST', `${TABLE}/query`, body)

      expect(JSON.parse(text).responses[0]).to.not.have.property('suggestions')
    })
  })
}
