import { open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { indexDirectoriesOf, inside } from '../support/places/index-directories.ts'
import { send } from '../contract/api-harness.ts'
import { until } from '../support/until.ts'

const BOOKS = '/api/v1/tables/books'
const NOTES = `${BOOKS}/indexes/notes`

/** Text indexes over HTTP, wherever the store runs. */
export function describeTextIndex(place: StorePlace): void {
  describe(`text indexes over HTTP, of ${place.name}`, () => {
    let store: StoreUnderTest

    beforeEach(async () => {
      store = await place.open()
      await ask('POST', BOOKS, '{"split_keys":["m"]}')
    })

    afterEach(async () => {
      await store[Symbol.asyncDispose]()
    })

    async function restart(): Promise<void> {
      await store.stop()
      await store.start()
    }

    async function ask(method: string, at: string, body?: string) {
      const { status, body: text } = await send(store.api, {
        method,
        path: at,
        ...(body === undefined ? {} : { body }),
      })
      return { status, value: text === '' ? undefined : JSON.parse(text) }
    }

    function write(count: number, syncLevel = 'full_text') {
      const keys = Array.from({ length: count }, (_, i) => `${i % 2 === 0 ? 'a' : 'z'}${i}`)
      const inserts = Object.fromEntries(keys.map((key, i) => [key, { title: `tides ${i}`, n: i }]))
      return ask('POST', `${BOOKS}/batch`, JSON.stringify({ inserts, sync_level: syncLevel }))
    }

    /** Asks until the index is complete. */
    async function built(name: string) {
      for (;;) {
        const { value } = await ask('GET', `${BOOKS}/indexes/${name}`)
        if (value.status.backfill_progress === 1 && !value.status.rebuilding) return value
      }
    }

    /** The names of the directories of indexes, on all nodes. */
    async function indexDirectories(): Promise<string[]> {
      return (await indexDirectoriesOf(store)).map((directory) => path.basename(directory))
    }

    /** Waits until each replica of the two shards has these directories of indexes, and no others. */
    async function haveDirectories(...names: readonly string[]): Promise<void> {
      const wanted = store.dataDirs.flatMap(() => [...names, ...names]).toSorted()
      const asText = wanted.join(' ')
      await until(async () => (await indexDirectories()).toSorted().join(' ') === asText)
    }

    it('show every write of sync level full_text as soon as it is answered', async () => {
      const { status } = await write(40)

      const { value } = await ask('GET', `${BOOKS}/indexes/full_text_index_v0`)

      expect(status).to.equal(201)
      expect(value.status.total_indexed).to.equal(40)
      expect(Object.keys(value.shard_status)).to.have.length(2)
    })

    it('are found complete after a clean stop, without being built again', async () => {
      await built('full_text_index_v0')
      await write(40)
      await store.stop()
      const before = await segmentFiles(store)

      await store.start()

      const { status } = await built('full_text_index_v0')
      expect(status).to.include({ total_indexed: 40, error: '' })
      // A replica that follows may lack the last documents when its node stops, and flushes what it has.
      expect(before.length).to.be.within(2, 2 * store.dataDirs.length)
      expect(await segmentFiles(store)).to.include.members(before)
    })

    it('may all be dropped, and the built-in one is built again from the documents when it is added', async () => {
      const builtIn = `${BOOKS}/indexes/full_text_index_v0`
      const search = ['POST', `${BOOKS}/query`, '{"full_text_search":{"query":"number"}}'] as const
      await write(40)

      const dropped = await ask('DELETE', builtIn)
      const unsearchable = await ask(...search)
      const again = await ask('POST', builtIn, '{"type":"full_text"}')
      const { status } = await built('full_text_index_v0')

      expect([dropped.status, unsearchable.status, again.status]).to.deep.equal([204, 404, 201])
      expect(status.total_indexed).to.equal(40)
    })

    it('index existing documents when they are added, and free the disk when they are dropped', async () => {
      await write(40)

      const created = await ask('POST', NOTES, '{"type":"full_text"}')
      const { status } = await built('notes')
      await haveDirectories('full_text_index_v0-v0', 'notes-v0')
      const dropped = await ask('DELETE', NOTES)

      expect([created.status, dropped.status]).to.deep.equal([201, 204])
      expect(status.total_indexed).to.equal(40)
      await haveDirectories('full_text_index_v0-v0')
    })

    it('are listed in the table, with those it was created with', async () => {
      const body = '{"indexes":{"notes":{"type":"full_text","mem_only":true}}}'

      const { value } = await ask('POST', '/api/v1/tables/boats', body)

      expect(value.indexes).to.deep.equal({
        full_text_index_v0: { name: 'full_text_index_v0', type: 'full_text' },
        notes: { name: 'notes', type: 'full_text', mem_only: true },
      })
    })

    it('in memory alone leave nothing on disk and are built again at the start', async () => {
      await ask('POST', NOTES, '{"type":"full_text","mem_only":true}')
      await write(40)

      await restart()

      const { status } = await built('notes')
      expect(status).to.include({ total_indexed: 40, disk_usage: 0 })
      await haveDirectories('full_text_index_v0-v0')
    })

    it('follow a change of the schema and drop the version before', async () => {
      await write(40)
      const schema = '{"document_schemas":{"b":{"schema":{"properties":{"n":{"type":"number"}}}}}}'

      await ask('PUT', `${BOOKS}/schema`, schema)

      await built('full_text_index_v0')
      await restart()
      const { status } = await built('full_text_index_v0')
      expect(status).to.include({ total_indexed: 40, error: '' })
      await haveDirectories('full_text_index_v0-v1')
    })

    it('leave out documents that expired by a new policy, also those with a time before 1970 (p16)', async () => {
      const inserts = { a: { born: '1969-07-20T00:00:00Z' }, z: { born: '2999-01-01T00:00:00Z' } }
      await ask('POST', `${BOOKS}/batch`, JSON.stringify({ inserts, sync_level: 'full_text' }))

      await ask('PUT', `${BOOKS}/schema`, '{"ttl_duration":"30d","ttl_field":"born"}')

      await until(async () => {
        const { value } = await ask('POST', `${BOOKS}/query`, '{"count":true}')
        return value.responses?.[0].hits.total === 1
      })
      expect((await ask('GET', `${BOOKS}/lookup/a`)).status).to.equal(404)
      expect((await ask('GET', `${BOOKS}/lookup/z`)).status).to.equal(200)
    })

    it('are built again when a file is damaged', async () => {
      await built('full_text_index_v0')
      await write(40)
      await store.stop()
      const directories = await indexDirectoriesOf(store)
      const damaged = await Promise.all(directories.map(damage))
      // Each leader has flushed one segment; a follower may have been behind.
      expect(damaged.filter((segments) => segments > 0).length).to.be.at.least(2)

      await store.start()

      const { status } = await built('full_text_index_v0')
      expect(status).to.include({ total_indexed: 40, error: '' })
    })

    it('are removed with their table', async () => {
      await write(4)

      await ask('DELETE', BOOKS)

      await until(async () => (await indexDirectories()).length === 0)
    })
  })
}

/** Every segment with the time of its making. */
async function segmentFiles(store: StoreUnderTest): Promise<string[]> {
  const directories = await indexDirectoriesOf(store)
  const found = (await Promise.all(directories.map(inside))).flat()
  const files = found
    .filter((name) => name.endsWith('.segment'))
    .map(async (name) => {
      const { mtimeMs, ino } = await stat(name)
      return `${name} ${ino} ${mtimeMs}`
    })
  return (await Promise.all(files)).toSorted()
}

/** Cuts every segment off in the middle. Answers how many there are. */
async function damage(directory: string): Promise<number> {
  const segments = (await readdir(directory)).filter((name) => name.endsWith('.segment'))
  for (const name of segments) {
    const file = await open(path.join(directory, name), 'r+')
    const { size } = await file.stat()
    await file.truncate(Math.floor(size / 2))
    await file.close()
  }
  return segments.length
}
