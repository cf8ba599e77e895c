// Words, values and keys of twelve scripts, searched in every way beside a plain implementation: new in memory,
// written to disk by a clean stop, after replacements and deletes, and in an index that an earlier version left.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import { checksum } from '../../node/index/text/encoding/byte-buffer.ts'
import { countTo } from '../support/loads/load.ts'
import { compareUtf8, SCRIPTS, valueOf, wordOf } from '../support/loads/script-texts.ts'
import { indexDirectoriesOf } from '../support/places/index-directories.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const TABLE = 'scripts'
const DOCUMENTS = 260
const WORDS = 20 * SCRIPTS.length
const LIMIT = 1000
const SAMPLES = 70
const BATCH = 40
const SCHEMA = {
  default_type: 'page',
  document_schemas: {
    page: {
      schema: {
        type: 'object',
        properties: {
          body: { type: 'string', 'x-service-types': ['text'] },
          tag: { type: 'string', 'x-service-types': ['keyword'] },
        },
      },
    },
  },
}

interface Page {
  readonly body: string
  readonly tag: string
}

function composed(number: number): string {
  return valueOf(number).normalize('NFC')
}

/** The documents by key, and every answer by a look at each. */
class PlainPages {
  readonly pages = new Map<string, Page>()

  /** Values are compared composed. */
  set(key: string, { body, tag }: Page): void {
    this.pages.set(key, { body, tag: tag.normalize('NFC') })
  }

  keysWith(matches: (page: Page) => boolean): readonly string[] {
    return [...this.pages]
      .filter(([, page]) => matches(page))
      .map(([key]) => key)
      .toSorted(compareUtf8)
  }

  keysByTag(): readonly string[] {
    return [...this.pages]
      .toSorted(([a, one], [b, other]) => compareUtf8(one.tag, other.tag) || compareUtf8(a, b))
      .map(([key]) => key)
  }

  facets(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      [...new Set(Array.from(this.pages.values(), ({ tag }) => tag))].map((tag) => [
        tag,
        this.keysWith((page) => page.tag === tag).length,
      ]),
    )
  }
}

/** Searches over texts of many scripts (QUARRY_TEST_SEED=${seed}), wherever the store runs. */
export function describeTextScripts(place: StorePlace): void {
  describe(`texts of twelve scripts (QUARRY_TEST_SEED=${seed}), of ${place.name}`, () => {
    const random = seededRandom(seed)
    const below = (bound: number): number => Math.floor(random() * bound)
    const plain = new PlainPages()
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      await client.createTable(TABLE, { split_keys: ['п'], schema: SCHEMA })
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    function newPage(): Page {
      const words = countTo(1 + below(6)).map(() => wordOf(below(WORDS)))
      return { body: words.join(' '), tag: valueOf(below(120)) }
    }

    async function write(keys: readonly string[], deletes: readonly string[] = []): Promise<void> {
      for (let from = 0; from < keys.length; from += BATCH) {
        const pages = keys.slice(from, from + BATCH).map((key) => [key, newPage()] as const)
        for (const [key, page] of pages) plain.set(key, page)
        await client.batch(TABLE, { inserts: Object.fromEntries(pages), sync_level: 'full_text' })
      }
      if (deletes.length === 0) return
      for (const key of deletes) plain.pages.delete(key)
      await client.batch(TABLE, { deletes, sync_level: 'full_text' })
    }

    async function restart(): Promise<void> {
      await store.stop()
      await store.start()
    }

    async function expectAll(): Promise<void> {
      for (const { query, matches } of questions()) {
        const body = { full_text_search: query, order_by: [{ field: '_id' }], limit: LIMIT }
        const { keys, total } = await ask(client, body)
        const expected = plain.keysWith(matches)
        expect({ keys, total }, JSON.stringify(query)).to.deep.equal({
          keys: expected,
          total: expected.length,
        })
      }
      await expectOrders(client, plain)
    }

    /** Each with what the plain implementation says of a page. */
    function* questions(): Generator<Question> {
      yield { query: { match_all: {} }, matches: () => true }
      for (const _ of countTo(SAMPLES)) {
        const [one, other] = [wordOf(below(WORDS)), wordOf(below(WORDS))]
        const [low = '', high = ''] = [composed(below(200)), composed(below(200))].toSorted(
          compareUtf8,
        )
        yield* wordQuestions(one, other)
        yield* valueQuestions(low, high)
      }
    }

    it('are found as soon as they are written', async () => {
      await write(countTo(DOCUMENTS).map((n) => valueOf(n)))
      await expectAll()
    })

    it('are found after a stop, which writes segments', async () => {
      await restart()
      await expectAll()
    })

    it('are found when some were replaced and some deleted, fresh and after a stop', async () => {
      const keys = [...plain.pages.keys()]
      await write(
        keys.filter((_, n) => n % 3 === 0),
        keys.filter((_, n) => n % 3 === 1),
      )
      await expectAll()
      await restart()
      await expectAll()
    })

    it('are found in an index that an earlier version wrote, which is built again', async () => {
      await store.stop()
      for (const directory of await indexDirectoriesOf(store)) await makeOlder(directory)
      await store.start()
      // Answered when the indexes have seen it.
      await write([valueOf(1)])
      await expectAll()
      await store.stop()
      const versions = await Promise.all((await indexDirectoriesOf(store)).map(versionOf))
      await store.start()

      expect(versions.every((version) => version >= 8)).to.equal(true)
    })

    it('leave nothing behind when all were replaced and then all deleted', async () => {
      await write([...plain.pages.keys()])
      await restart()
      await write([], [...plain.pages.keys()])
      await expectAll()
      await restart()
      await expectAll()
    })
  })
}

interface Question {
  readonly query: object
  readonly matches: (page: Page) => boolean
}

function wordsIn({ body }: Page): readonly string[] {
  return body.split(' ')
}

function* wordQuestions(one: string, other: string): Generator<Question> {
  const field = 'body'
  yield { query: { match: one, field }, matches: (page) => wordsIn(page).includes(one) }
  yield {
    query: { match_phrase: `${one} ${other}`, field },
    matches: (page) => ` ${page.body} `.includes(` ${one} ${other} `),
  }
  yield {
    query: { prefix: one, field },
    matches: (page) => wordsIn(page).some((word) => word.startsWith(one)),
  }
  yield {
    query: { match: `${one} ${other}`, operator: 'and', field },
    matches: (page) => wordsIn(page).includes(one) && wordsIn(page).includes(other),
  }
}

function* valueQuestions(low: string, high: string): Generator<Question> {
  const field = 'tag'
  yield { query: { term: low.normalize('NFD'), field }, matches: ({ tag }) => tag === low }
  yield {
    query: { prefix: low.normalize('NFD'), field },
    matches: ({ tag }) => tag.startsWith(low),
  }
  yield {
    query: {
      min: low,
      max: high.normalize('NFD'),
      inclusive_min: true,
      inclusive_max: false,
      field,
    },
    matches: ({ tag }) => compareUtf8(tag, low) >= 0 && compareUtf8(tag, high) < 0,
  }
  yield {
    query: { min: high, inclusive_min: false, field },
    matches: ({ tag }) => compareUtf8(tag, high) > 0,
  }
}

/** By a value, by keys, in pages; and the facets. */
async function expectOrders(client: StoreClient, plain: PlainPages): Promise<void> {
  const byTag = plain.keysByTag()
  const order_by = [{ field: 'tag' }]
  const all = { full_text_search: { match_all: {} } }
  expect((await ask(client, { ...all, order_by, limit: LIMIT })).keys).to.deep.equal(byTag)
  const paged: string[] = []
  for (let cursor: unknown; ;) {
    const after = cursor === undefined ? {} : { search_after: cursor }
    const page = await ask(client, { ...all, order_by, limit: 17, ...after })
    paged.push(...page.keys)
    cursor = page.sort
    if (page.keys.length === 0) break
  }
  expect(paged, 'page after page').to.deep.equal(byTag)
  const tags = { type: 'terms', field: 'tag', size: LIMIT }
  const { facets } = await ask(client, { ...all, limit: 0, aggregations: { tags } })
  expect(facets).to.deep.equal(plain.facets())
}

interface Answer {
  readonly keys: readonly string[]
  readonly total: number
  readonly sort: unknown
  readonly facets: Readonly<Record<string, number>> | undefined
}

interface Bucket {
  readonly key: string
  readonly doc_count: number
}

async function ask(client: StoreClient, body: object): Promise<Answer> {
  const { text } = await client.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)
  const { hits, error, aggregations } = JSON.parse(text).responses[0]
  expect(error, text.slice(0, 500)).to.equal(undefined)
  const found: readonly { readonly _id: string; readonly [name: string]: unknown }[] = hits.hits
  const buckets: readonly Bucket[] | undefined = aggregations?.tags?.buckets
  return {
    keys: found.map(({ _id: key }) => key),
    total: hits.total,
    sort: found.at(-1)?.['_sort'],
    facets: buckets && Object.fromEntries(buckets.map(({ key, doc_count: n }) => [key, n])),
  }
}

async function makeOlder(directory: string): Promise<void> {
  const file = path.join(directory, 'mapping')
  const [body = ''] = (await readFile(file, 'utf8')).split('\n')
  const older = JSON.stringify({ ...JSON.parse(body), version: 4 })
  const sum = checksum(Buffer.from(older)).toString(16).padStart(8, '0')
  await writeFile(file, `${older}\n${sum}\n`)
}

async function versionOf(directory: string): Promise<number> {
  const [body = ''] = (await readFile(path.join(directory, 'mapping'), 'utf8')).split('\n')
  return JSON.parse(body).version
}
