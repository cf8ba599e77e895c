// Lists of values, and scans of keys, against what documents say by hand, wherever the store runs.

import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { FOUR_SHARDS, SHARD_PREFIXES } from '../support/loads/load.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = 'values'
const COUNT = 400
const VALUES_MAX = 65_536

const keyOf = (i: number): string => `${SHARD_PREFIXES[i % SHARD_PREFIXES.length]}/${i}`
const KEYS = Array.from({ length: COUNT }, (_, i) => keyOf(i))
/** Numbers that doubles cannot tell apart. */
const longOf = (i: number): string => String(9_007_199_254_740_992n + BigInt(i))

export function describeAnyValue(place: StorePlace): void {
  describe(`lists of values, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      await client.createTable(TABLE, FOUR_SHARDS)
      const members = KEYS.map(
        (key, i) => `"${key}":{"sku":"s${i}","n":${i},"long":[${longOf(i)}],"word":"w${i % 7} x"}`,
      )
      const body = `{"sync_level":"full_text","inserts":{${members.join()}}}`
      await client.succeed('POST', `/api/v1/tables/${TABLE}/batch`, body)
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    async function found(filter: string): Promise<readonly string[]> {
      const body = `{"filter_query":${filter},"limit":1000,"fields":["n"]}`
      const { text } = await client.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)
      const hits: readonly { readonly _id: string }[] = JSON.parse(text).responses[0].hits.hits
      return hits.map(({ _id: key }) => key).toSorted()
    }

    async function scanned(filter: string, range = ''): Promise<readonly string[]> {
      const path = `/api/v1/tables/${TABLE}/lookup`
      const { text } = await client.succeed('POST', path, `{${range}"filter_query":${filter}}`)
      const lines = text.split('\n').filter((line) => line !== '')
      return lines.map((line) => String(JSON.parse(line).key))
    }

    const wanted = [3, 17, 399, 200]
    const expected = wanted.map(keyOf).toSorted()
    const padding = Array.from({ length: VALUES_MAX - wanted.length }, (_, i) => `"none-${i}"`)
    const numbers = Array.from({ length: VALUES_MAX - wanted.length }, (_, i) => String(i + COUNT))

    it('of 65,536 texts are found in a query and a scan', async () => {
      const values = [...padding, ...wanted.map((i) => `"s${i}"`)].join()
      const filter = `{"terms":{"field":"sku.keyword","values":[${values}]}}`

      expect(await found(filter)).to.deep.equal(expected)
      expect((await scanned(filter)).toSorted()).to.deep.equal(expected)
    })

    it('of 65,536 numbers are found in a query and a scan, with all their digits', async () => {
      const values = [...numbers, ...wanted].join()
      const filter = `{"terms":{"field":"n","values":[${values}]}}`
      expect(await found(filter)).to.deep.equal(expected)
      expect((await scanned(filter)).toSorted()).to.deep.equal(expected)

      const long = `{"terms":{"field":"long","values":[${wanted.map(longOf).join()}]}}`
      expect(await found(long)).to.deep.equal(expected)
      expect((await scanned(long)).toSorted()).to.deep.equal(expected)
    })

    it('are in the canonical form as well', async () => {
      const values = [...padding, ...wanted.map((i) => `"s${i}"`)].join()
      const body = `{"query":{"bool":{"filter":{"terms":{"field":"sku.keyword","values":[${values}]}}}},"limit":100}`
      const { text } = await client.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)

      expect(JSON.parse(text).responses[0].hits.total).to.equal(wanted.length)
    })

    it('of more values are refused with the limit', async () => {
      const values = [...padding, ...padding.slice(0, 5)].join()
      const filter = `{"terms":{"field":"sku.keyword","values":[${values}]}}`
      const path = `/api/v1/tables/${TABLE}/lookup`
      const { status, text } = await client.send('POST', path, `{"filter_query":${filter}}`)

      expect(status).to.equal(400)
      expect(text).to.include('65536')
    })

    it('of keys are scanned in order, within the range and the rest of the filter', async () => {
      const ids = JSON.stringify([...wanted.map(keyOf), 'none', keyOf(3), keyOf(4)])
      const all = [...expected, keyOf(4)].toSorted()

      expect(await scanned(`{"ids":${ids}}`)).to.deep.equal(all)
      expect(await scanned(`{"conjuncts":[{"ids":${ids}},{"max":100,"field":"n"}]}`)).to.deep.equal(
        [3, 4, 17].map(keyOf).toSorted(),
      )
      expect(await scanned(`{"disjuncts":[{"ids":["none"]},{"match_all":{}}]}`)).to.have.length(
        COUNT,
      )
      const [, second = ''] = all
      expect(
        await scanned(`{"ids":${ids}}`, `"from":"${second}","inclusive_from":true,`),
      ).to.deep.equal(all.slice(1))
      expect(await scanned(`{"ids":${ids}}`, '"limit":2,')).to.deep.equal(all.slice(0, 2))
    })
  })
}
