// A store that was killed before its text index was whole builds it again, and says so wherever an
// operator looks.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import { parseLog } from '../support/processes/quarry-command.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { until } from '../support/until.ts'

const BATCHES = 8
const DOCUMENTS_PER_BATCH = 2000
const TEXT = 'Every ship that came in was written down, with her master, her freight and the wind'
const QUERY = '/api/v1/tables/archive/query'
const ANY_SHIP = { full_text_search: { query: 'ship' } }

interface Status {
  readonly health: string
  readonly message: string
}

interface Told {
  readonly status: Status
  readonly readiness: { readonly searches: string }
  readonly metrics: string
}

describe('a text index that is built again after a crash', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-told-'))
  })

  afterEach(() => rm(folder, { recursive: true }))

  it('is reported by status, readiness, metrics and log until it answers', async () => {
    await killWhileLoading(folder)
    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)

    // At first the index is opened.
    await until(async () => (await statusOf(client)).health === 'degraded')
    const meanwhile = await ask(store, client)
    const archive = await client.succeed('GET', '/api/v1/tables/archive')
    const index = await client.succeed('GET', '/api/v1/tables/archive/indexes/full_text_index_v0')
    await until(async () => (await statusOf(client)).health === 'healthy')
    const afterwards = await ask(store, client)
    const { status } = await client.send('POST', QUERY, ANY_SHIP)

    expect(meanwhile.status.health).to.equal('degraded')
    // The schema did not change, so that nothing migrates.
    expect(JSON.parse(archive.text)).not.to.have.property('migration')
    expect(index.text).to.include('"rebuilding":true')
    expect(meanwhile.status.message).to.match(
      /text index "full_text_index_v0" of table "archive" is being built on 1 of 1 shards/,
    )
    expect(meanwhile.readiness.searches).to.equal('partly refused')
    expect(meanwhile.metrics).to.match(/^quarry_text_indexes_building 1$/m)
    expect(meanwhile.metrics).to.match(/^quarry_text_indexes_refusing 1$/m)
    expect(status).to.equal(200)
    expect(afterwards.readiness.searches).to.equal('ready')
    expect(afterwards.metrics).to.match(/^quarry_text_indexes_refusing 0$/m)
    expect(afterwards.metrics).to.match(/^quarry_text_index_builds_total\{kind="first"\} 1$/m)
    const told = parseLog(store.log).filter(({ msg }) => String(msg).startsWith('text index'))
    expect(told.map(({ msg, table }) => [msg, table])).to.deep.equal([
      ['text index is being built', 'archive'],
      ['text index is built', 'archive'],
    ])
  }).timeout(240_000)
})

/** Before the first flush of the index, so that nothing of it is whole on disk. */
async function killWhileLoading(dataDir: string): Promise<void> {
  await using store = await StoreProcess.start({ dataDir })
  using client = new StoreClient(store.api)
  await client.createTable('archive', {})
  for (const batch of countTo(BATCHES)) {
    const inserts = countTo(DOCUMENTS_PER_BATCH).map((n) => [
      `${batch}/${n}`,
      { n, text: `${TEXT} ${batch} ${n}`, words: `${n} ${n + 1} ${n + 2} ${n * batch}` },
    ])
    await client.batch('archive', { inserts: Object.fromEntries(inserts) })
  }
  await store.kill()
}

async function ask(store: StoreProcess, client: StoreClient): Promise<Told> {
  const textOf = async (route: string) => (await fetch(store.health + route)).text()
  const [status, readiness, metrics] = await Promise.all([
    statusOf(client),
    textOf('/readyz'),
    textOf('/metrics'),
  ])
  return { status, readiness: JSON.parse(readiness), metrics }
}

async function statusOf(client: StoreClient): Promise<Status> {
  const { text } = await client.succeed('GET', '/api/v1/status')
  return JSON.parse(text)
}
