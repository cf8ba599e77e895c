import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { startNode } from '../../node/main.ts'
import { parseNodeConfig } from '../../node/config.ts'
import type { RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'
import { until } from '../support/until.ts'

const BOOKS = '/api/v1/tables/books'
const NOTES = `${BOOKS}/indexes/notes`

describe('text indexes over HTTP', () => {
  let dataDir: string
  let node: RunningNode

  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-text-'))
    node = await start()
    await ask('POST', BOOKS, '{"split_keys":["m"]}')
  })

  afterEach(async () => {
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  function start(): Promise<RunningNode> {
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    return startNode(parseNodeConfig({}, flags))
  }

  async function restart(): Promise<void> {
    await node.close()
    node = await start()
  }

  async function ask(method: string, at: string, body?: string) {
    const { status, body: text } = await send(node.apiUrl, {
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

  async function indexDirectories(): Promise<string[]> {
    const root = path.join(dataDir, 'indexes')
    const shards = await readdir(root)
    return (await Promise.all(shards.map((shard) => readdir(path.join(root, shard))))).flat()
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
    await node.close()
    const before = await segmentFiles(dataDir)

    node = await start()

    const { status } = await built('full_text_index_v0')
    expect(status).to.include({ total_indexed: 40, error: '' })
    expect(before).to.have.length(2)
    expect(await segmentFiles(dataDir)).to.deep.equal(before)
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
    const directories = await indexDirectories()
    const dropped = await ask('DELETE', NOTES)

    expect([created.status, dropped.status]).to.deep.equal([201, 204])
    expect(status.total_indexed).to.equal(40)
    expect(directories.toSorted().slice(2)).to.deep.equal(['notes-v0', 'notes-v0'])
    expect(await indexDirectories()).to.have.length(2)
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
    expect(await indexDirectories()).to.have.length(2)
  })

  it('follow a change of the schema and drop the version before', async () => {
    await write(40)
    const schema = '{"document_schemas":{"b":{"schema":{"properties":{"n":{"type":"number"}}}}}}'

    await ask('PUT', `${BOOKS}/schema`, schema)

    await built('full_text_index_v0')
    await restart()
    const { status } = await built('full_text_index_v0')
    expect(status).to.include({ total_indexed: 40, error: '' })
    const directories = await indexDirectories()
    expect(directories).to.deep.equal(['full_text_index_v0-v1', 'full_text_index_v0-v1'])
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
    await node.close()
    const root = path.join(dataDir, 'indexes')
    for (const shard of await readdir(root)) {
      await damage(path.join(root, shard, 'full_text_index_v0-v0'))
    }

    node = await start()

    const { status } = await built('full_text_index_v0')
    expect(status).to.include({ total_indexed: 40, error: '' })
  })

  it('are removed with their table', async () => {
    await write(4)

    await ask('DELETE', BOOKS)

    expect(await readdir(path.join(dataDir, 'indexes'))).to.deep.equal([])
  })
})

/** Every segment with the time of its making. */
async function segmentFiles(dataDir: string): Promise<string[]> {
  const root = path.join(dataDir, 'indexes')
  const names = (await readdir(root, { recursive: true })).filter((name) =>
    name.endsWith('.segment'),
  )
  const files = names.map(async (name) => {
    const { mtimeMs, ino } = await stat(path.join(root, name))
    return `${name} ${ino} ${mtimeMs}`
  })
  return (await Promise.all(files)).toSorted()
}

/** Cuts every segment off in the middle. */
async function damage(directory: string): Promise<void> {
  const segments = (await readdir(directory)).filter((name) => name.endsWith('.segment'))
  expect(segments).to.not.deep.equal([])
  for (const name of segments) {
    const file = await open(path.join(directory, name), 'r+')
    const { size } = await file.stat()
    await file.truncate(Math.floor(size / 2))
    await file.close()
  }
}
