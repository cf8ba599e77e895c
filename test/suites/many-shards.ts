import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = 'wide'
const PATH = `/api/v1/tables/${TABLE}`
/** More than one transaction of etcd can create. */
const SHARDS = 150
const DOCUMENTS = 600
const TIMEOUT_MS = 300_000

/** A table of many shards, wherever the store runs. */
export function describeManyShards(place: StorePlace): void {
  describe(`a table of ${SHARDS} shards, of ${place.name}`, function () {
    this.timeout(TIMEOUT_MS)
    // Two letters and digits, on which the boundaries of even shards lie, and a number.
    const keys = countTo(DOCUMENTS).map((n) => `${((n * 61) % 1296).toString(36)}-${n}`)
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    it('is created with a range for each of them', async () => {
      await client.createTable(TABLE, { num_shards: SHARDS })

      const { shards } = JSON.parse((await client.succeed('GET', PATH)).text)
      expect(Object.keys(shards)).to.have.length(SHARDS)
    })

    it('takes one batch for many of them, and shows all of it', async () => {
      const inserts = Object.fromEntries(keys.map((key, n) => [key, { n, text: 'sea charts' }]))
      await client.batch(TABLE, { inserts, sync_level: 'full_text' })

      const scanned = await client.scan(TABLE)
      const body = { full_text_search: { match: 'sea', field: 'text' }, limit: 1 }
      const { text } = await client.succeed('POST', `${PATH}/query`, body)

      const sorted = keys.toSorted((a, b) => (a < b ? -1 : 1))
      expect(scanned.map(({ key }) => key)).to.deep.equal(sorted)
      expect(JSON.parse(text).responses[0].hits.total).to.equal(DOCUMENTS)
    })

    it('is dropped as a whole, and can be created again', async () => {
      await client.succeed('DELETE', PATH)
      await client.createTable(TABLE, { num_shards: 1 })

      expect(await client.scan(TABLE)).to.deep.equal([])
      await client.succeed('DELETE', PATH)
    })
  })
}
