// test/golden/data-directory-2.json.gz is a data directory of format 2, copied while its process ran:
// a table of two shards and its text indexes, documents in the stores, and later ones that the
// journal alone holds.

import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { isDeleted, ordinalOf } from '../../node/shard/format/document-record.ts'
import {
  documentRange,
  keyOfDocumentKey,
  UNNUMBERED_KEY,
} from '../../node/shard/format/keyspace.ts'
import type { KvStore } from '../../node/storage/kv-store.ts'
import { LevelStoreFactory } from '../../node/storage/level-store-factory.ts'
import { send } from '../contract/api-harness.ts'
import { until } from '../support/until.ts'

/** A file without the zeros at its end. */
interface PackedFile {
  readonly bytes: number
  readonly content: string
}

const packed = new URL('../golden/data-directory-2.json.gz', import.meta.url)
const files: Readonly<Record<string, PackedFile>> = JSON.parse(
  gunzipSync(readFileSync(packed)).toString(),
)
const TITLES = {
  a: 'first words, again',
  b: 'second words',
  d: 'only in the journal',
  p: 'one transaction over two shards',
}

async function ask(node: RunningNode, method: string, at: string, body?: unknown) {
  const { status, body: text } = await send(node.apiUrl, {
    method,
    path: `/api/v1/tables/books/${at}`,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status, value: text === '' ? undefined : JSON.parse(text) }
}

async function ordinalsIn(store: KvStore): Promise<Record<string, number | undefined>> {
  const found: Record<string, number | undefined> = {}
  const all = documentRange({ start: Buffer.alloc(0), end: undefined })
  for await (const page of store.pages(all)) {
    for (const [key, record] of page) {
      if (!isDeleted(record)) found[keyOfDocumentKey(key).toString()] = ordinalOf(record)
    }
  }
  return found
}

describe('a data directory of format 2', () => {
  let dataDir = ''

  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-old-'))
    for (const [name, { bytes, content }] of Object.entries(files)) {
      const file = path.join(dataDir, name)
      await mkdir(path.dirname(file), { recursive: true })
      await writeFile(file, Buffer.concat([Buffer.from(content, 'base64')], bytes))
    }
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  function start(): Promise<RunningNode> {
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    return startNode(parseNodeConfig({}, flags))
  }

  /** By shard and key; of a store that nobody has open. */
  async function storedOrdinals(): Promise<Record<string, number | undefined>> {
    const root = path.join(dataDir, 'shards')
    const stores = await LevelStoreFactory.open(root, { clock: systemClock, ownLog: 'replay' })
    const found: Record<string, number | undefined> = {}
    for (const name of await stores.list()) {
      await using store = await stores.open(name)
      expect(store.get(UNNUMBERED_KEY)).to.equal(undefined)
      Object.assign(found, await ordinalsIn(store))
    }
    return found
  }

  it('is served unchanged while its documents get ordinals', async () => {
    const node = await start()
    for (const [key, title] of Object.entries(TITLES)) {
      const { status, value } = await ask(node, 'GET', `lookup/${key}`)
      expect({ status, title: value.title }).to.deep.equal({ status: 200, title })
    }
    expect((await ask(node, 'GET', 'lookup/c')).status).to.equal(404)
    expect((await ask(node, 'GET', 'lookup/n')).status).to.equal(404)
    await ask(node, 'POST', 'batch', { inserts: { z: { title: 'new words' } } })
    await until(async () => {
      const search = { full_text_search: { query: 'title:words' } }
      const { status, value } = await ask(node, 'POST', 'query', search)
      const { hits } = value.responses?.[0] ?? value
      return status === 200 && hits.hits.length === 3
    })
    await node.close()

    const format = await readFile(path.join(dataDir, 'format.json'), 'utf8')
    expect(format).to.include('"version":5')
    const found = await storedOrdinals()
    expect(Object.keys(found).toSorted()).to.deep.equal(['a', 'b', 'd', 'p', 'z'])
    expect([found['a'], found['b'], found['d']]).to.have.members([0, 1, 2])
    expect([found['p'], found['z']]).to.have.members([0, 1])
  })

  it('has an ordinal for each document after a second start', async () => {
    const first = await start()
    await first.close()
    const second = await start()
    await second.close()

    const found = await storedOrdinals()
    const isWhole = Object.values(found).every((ordinal) => ordinal !== undefined)
    expect(isWhole).to.equal(true)
  })
})
