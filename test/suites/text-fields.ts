import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { indexDirectoriesOf } from '../support/places/index-directories.ts'
import { checksum } from '../../node/index/text/encoding/byte-buffer.ts'
import { send } from '../contract/api-harness.ts'

const DEAR = { full_text_search: { query: 'price:>5' } }
const BY_PRICE = { order_by: [{ field: 'price' }] }
/** The number is the first value of the field. */
const DOCUMENTS = { b: { price: 10 }, c: { price: 20 }, a: { price: 'on request' } }

/** The type of a field that no schema describes, wherever the store runs. */
export function describeTextFields(place: StorePlace): void {
  describe(`the type of a field that no schema describes, of ${place.name}`, () => {
    let store: StoreUnderTest

    beforeEach(async () => {
      store = await place.open()
    })

    afterEach(async () => {
      await store[Symbol.asyncDispose]()
    })

    async function ask(method: string, at: string, body?: unknown) {
      const { status, body: text } = await send(store.api, {
        method,
        path: `/api/v1/tables/${at}`,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status, value: text === '' ? undefined : JSON.parse(text) }
    }

    /** One after the other, each searchable before the next is written. */
    async function create(table: string, more: object = {}): Promise<void> {
      await ask('POST', table, more)
      for (const [key, document] of Object.entries(DOCUMENTS)) {
        const inserts = { [key]: document }
        await ask('POST', `${table}/batch`, { inserts, sync_level: 'full_text' })
      }
    }

    async function built(table: string, index = 'full_text_index_v0') {
      for (;;) {
        const { value } = await ask('GET', `${table}/indexes/${index}`)
        if (value.status.backfill_progress === 1 && !value.status.rebuilding) return value
      }
    }

    async function answer(table: string, query: object) {
      const { status, value } = await ask('POST', `${table}/query`, query)
      const { hits, error, warnings } = value.responses?.[0] ?? value
      const keys = hits?.hits?.map(({ _id: key }: { readonly _id: string }) => key)
      return { status, keys, error, warnings }
    }

    /** After a change of the TTL each document gets its time of expiry, and answers say that they may lack it. */
    async function answerOfAll(table: string, query: object): Promise<unknown> {
      for (;;) {
        const { warnings, ...rest } = await answer(table, query)
        if (!warnings?.some((warning: string) => warning.includes('behind'))) {
          return { ...rest, warnings }
        }
      }
    }

    it('is the same with one shard and with two', async () => {
      await create('one')
      await create('two', { split_keys: ['b'] })

      for (const query of [DEAR, BY_PRICE]) {
        const one = await answer('one', query)
        expect(await answer('two', query)).to.deep.equal(one)
        expect(one).to.deep.include({ error: undefined })
      }
      expect(await answer('one', DEAR)).to.deep.include({ keys: ['b', 'c'] })
    })

    it('is known on shards of which no document has the field', async () => {
      await create('one')
      await create('many', { split_keys: ['b', 'c', 'd', 'e'] })

      expect(await answer('many', DEAR)).to.deep.equal(await answer('one', DEAR))
    })

    it('is the same in an index that is added later', async () => {
      await create('one')
      const before = await answer('one', DEAR)

      await ask('POST', 'one/indexes/again', { type: 'full_text' })
      await built('one', 'again')

      expect(await answer('one', { ...DEAR, indexes: ['again'] })).to.deep.equal(before)
    })

    it('is the same after the index was built again', async () => {
      await create('one')
      const before = await answer('one', DEAR)
      await store.stop()
      const directories = await indexDirectoriesOf(store)
      for (const directory of directories) await rm(path.join(directory, 'manifest'))

      await store.start()

      await built('one')
      expect(await answer('one', DEAR)).to.deep.equal(before)
    })

    it('is the same after a change of the schema that does not mention it', async () => {
      await create('one')
      const before = await answer('one', DEAR)

      await ask('PUT', 'one/schema', { ttl_duration: '1h' })
      await built('one')

      expect(await answerOfAll('one', DEAR)).to.deep.equal(before)
    })

    it('is searched, sorted and counted as before when a schema declares another field', async () => {
      await ask('POST', 'people')
      const inserts = { k: { name: 'Kate', about: 'sailor' }, l: { name: 'Lou', about: 'cook' } }
      await ask('POST', 'people/batch', { inserts, sync_level: 'full_text' })
      const queries = [
        { full_text_search: { query: 'kate' } },
        { full_text_search: { query: 'name:kate' } },
        { order_by: [{ field: 'name.keyword', desc: true }] },
        { full_text_search: { query: 'about:sailor' } },
      ]
      const before = await Promise.all(queries.map((query) => answer('people', query)))

      const schema = { type: 'object', properties: { about: { type: 'string' } } }
      const { status, value } = await ask('PUT', 'people/schema', schema)
      await built('people')

      expect(status).to.equal(200)
      expect(value.schema.document_schemas).to.deep.equal({ _default: { schema } })
      const after = await Promise.all(queries.map((query) => answer('people', query)))
      expect(after).to.deep.equal(before)
      expect(after).to.deep.include({
        status: 200,
        keys: ['l', 'k'],
        error: undefined,
        warnings: undefined,
      })
      const { value: stored } = await ask('GET', 'people/lookup/k')
      expect(stored).to.deep.equal(inserts.k)
    })

    it('is reported as not indexed, not as absent, where the schema leaves it out', async () => {
      const schema = { properties: { about: { type: 'string' } }, 'x-service-dynamic': false }
      await ask('POST', 'people', { schema })
      const inserts = { k: { name: 'Kate', about: 'sailor' } }
      await ask('POST', 'people/batch', { inserts, sync_level: 'full_text' })

      expect(await answer('people', { full_text_search: { query: 'name:kate' } })).to.deep.include({
        keys: [],
        warnings: [
          'field "name" is not indexed: a schema leaves out what it does not mention ' +
            '(x-service-dynamic or additionalProperties)',
        ],
      })
    })

    it('is taken over from an index of an earlier version', async () => {
      await create('one')
      const before = await answer('one', DEAR)
      await ask('DELETE', 'one')
      await ask('POST', 'one')
      await store.stop()
      // As version 2 wrote it: of a table whose list of fields is empty.
      for (const directory of await indexDirectoriesOf(store)) {
        const price = { types: ['numeric'], isInAll: true, keywordLengthMax: 256 }
        const body = JSON.stringify({ version: 2, fields: { version: 1, fields: { price } } })
        const sum = checksum(Buffer.from(body)).toString(16).padStart(8, '0')
        await writeFile(path.join(directory, 'mapping'), `${body}\n${sum}\n`)
      }

      await store.start()
      await built('one')
      const [directory = ''] = await indexDirectoriesOf(store)
      const mapping = await readFile(path.join(directory, 'mapping'), 'utf8')
      const inserts = { a: DOCUMENTS.a, b: DOCUMENTS.b, c: DOCUMENTS.c }
      await ask('POST', 'one/batch', { inserts, sync_level: 'full_text' })

      expect(mapping).to.include('"version":10')
      expect(await answer('one', DEAR)).to.deep.equal(before)
    })

    it('counts in the index status the values that do not fit it', async () => {
      await create('two', { split_keys: ['b'] })
      const inserts = { z: { price: 'none', size: 1 }, zz: { price: ['?', 3], size: 'large' } }
      await ask('POST', 'two/batch', { inserts, sync_level: 'full_text' })

      const { status, shard_status } = await built('two')

      expect(status.dropped_values).to.deep.equal({
        bad_values: 4,
        over_limit: 0,
        fields: {
          price: { bad_values: 3, over_limit: 0 },
          size: { bad_values: 1, over_limit: 0 },
        },
      })
      const counts = Object.values<typeof status>(shard_status).map((one) => one.dropped_values)
      expect(counts.map((one) => one.bad_values)).to.have.members([1, 3])
    })
  })
}
