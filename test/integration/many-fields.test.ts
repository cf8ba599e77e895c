import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { countTo } from '../support/loads/load.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const DOCUMENTS = 12
const FIELDS_EACH = 1000
const TABLE = '/api/v1/tables/books'

interface Answer {
  readonly total: number
  readonly warnings: readonly string[]
}

async function ask(client: StoreClient, text: string, field?: string): Promise<Answer> {
  const clause = field === undefined ? { match: text } : { match: text, field }
  const sent = await client.succeed('POST', `${TABLE}/query`, { full_text_search: clause })
  const { responses } = JSON.parse(sent.text)
  const [{ hits, warnings = [] }] = responses
  return { total: hits.total, warnings }
}

/** What a client is told of the fields: it must not change by a restart or a kill. */
async function told(client: StoreClient) {
  const { text } = await client.succeed('GET', `${TABLE}/indexes`)
  const [{ status }] = JSON.parse(text)
  const { dynamic_fields: fields } = status
  const named = []
  for (const at of [0, 5, 9, 10, 11]) named.push((await ask(client, 'alpha', `f${at}-1`)).total)
  return { fields, named, unnamed: await ask(client, 'alpha') }
}

describe('a table with more fields than may have names', function () {
  this.timeout(240_000)

  let folder: string
  let store: StoreProcess | undefined

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-fields-'))
  })

  afterEach(async () => {
    await store?.kill()
    await rm(folder, { recursive: true })
  })

  it('finds their texts without a name, says so in the answer, the status and the log, and says the same after a kill', async () => {
    const dataDir = path.join(folder, 'data')
    store = await StoreProcess.start({ dataDir })
    let client = new StoreClient(store.api)
    await client.createTable('books', {})
    for (const document of countTo(DOCUMENTS)) {
      const members = countTo(FIELDS_EACH).map((at) => [`f${document}-${at}`, 'alpha'])
      const inserts = { [`d${document}`]: Object.fromEntries(members) }
      await client.succeed('POST', `${TABLE}/batch`, { inserts, sync_level: 'full_text' })
    }

    const before = await told(client)
    const { log } = store
    await store.kill()
    client[Symbol.dispose]()
    store = await StoreProcess.start({ dataDir })
    client = new StoreClient(store.api)
    await client.succeed('POST', `${TABLE}/batch`, {
      inserts: { last: { n: 1 } },
      sync_level: 'full_text',
    })
    const after = await told(client)
    const logAfter = store.log
    client[Symbol.dispose]()
    await store.kill()

    expect(before.unnamed.total).to.equal(DOCUMENTS)
    expect(before.unnamed.warnings.join()).to.match(
      /has all the 10000 fields.*without a field name/,
    )
    expect(before.fields).to.deep.equal({ count: 10_000, is_full: true })
    expect(before.named).to.deep.equal([1, 1, 1, 0, 0])
    expect(log).to.include('table has all the fields it may have')
    expect(after).to.deep.equal(before)
    expect(logAfter).to.include('table has all the fields it may have')
  })
})
