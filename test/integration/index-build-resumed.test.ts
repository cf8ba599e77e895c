// A store that is stopped in order while it builds an index, and continues the build at its next start.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import { parseLog } from '../support/processes/quarry-command.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { until } from '../support/until.ts'

const BATCHES = 16
const DOCUMENTS_PER_BATCH = 1000
const DOCUMENTS = BATCHES * DOCUMENTS_PER_BATCH
const TEXT =
  'Every ship that came in was written down, with her master, her freight and the wind '.repeat(5)
const INDEX = '/api/v1/tables/archive/indexes/more'

interface Built {
  readonly total_indexed: number
  readonly rebuilding: boolean
  readonly backfill_progress: number
  readonly backfill_items_processed: number
}

describe('a build of an index that a clean stop interrupts', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-resumed-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('continues at the next start where it was', async () => {
    {
      await using store = await StoreProcess.start({ dataDir: folder })
      using client = new StoreClient(store.api)
      await load(client)
      await client.succeed('POST', INDEX, { type: 'full_text' })
      await until(async () => (await built(client)).backfill_items_processed > 0)
      expect((await built(client)).rebuilding).to.equal(true)
      client[Symbol.dispose]()
      const { exitCode, log } = await store.stop()
      expect(exitCode, log).to.equal(0)
    }

    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await until(async () => {
      const { backfill_progress: progress, rebuilding } = await built(client)
      return progress === 1 && !rebuilding
    })

    const told = parseLog(store.log).filter(({ index }) => index === 'more')
    expect(told.map(({ msg }) => msg)).to.deep.equal([
      'text index is being built further',
      'text index is built',
    ])
    expect(told[0]?.['documents']).to.be.within(1, DOCUMENTS - 1)
    expect(told[1]?.['documents']).to.equal(DOCUMENTS)
    expect((await built(client)).total_indexed).to.equal(DOCUMENTS)
    const { text } = await client.succeed('POST', '/api/v1/tables/archive/query', {
      indexes: ['more'],
      full_text_search: { match: 'ship', field: 'text' },
      count: true,
    })
    expect(JSON.parse(text).responses[0].hits.total).to.equal(DOCUMENTS)
  }).timeout(240_000)
})

async function load(client: StoreClient): Promise<void> {
  await client.createTable('archive', {})
  for (const batch of countTo(BATCHES)) {
    const inserts = countTo(DOCUMENTS_PER_BATCH).map((n) => [`${batch}/${n}`, { n, text: TEXT }])
    await client.batch('archive', { inserts: Object.fromEntries(inserts), sync_level: 'full_text' })
  }
}

async function built(client: StoreClient): Promise<Built> {
  const { text } = await client.succeed('GET', INDEX)
  return JSON.parse(text).status
}
