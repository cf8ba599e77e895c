import { expect } from 'chai'
import { startApi } from '../contract/api-harness.ts'
import type { Api } from '../contract/api-harness.ts'
import { runCommand } from './cli-session.ts'

const TABLES = '/api/v1/tables'

describe('what a table holds', () => {
  let api: Api

  before(async () => {
    api = await startApi({ isSearched: true })
    const schema = {
      language: 'english',
      document_schemas: { book: { schema: { properties: { isbn: { type: 'string' } } } } },
      default_type: 'book',
    }
    const body = JSON.stringify({ num_shards: 3, schema })
    await api.send({ method: 'POST', path: `${TABLES}/books`, body })
    const own = JSON.stringify({ type: 'embeddings', external: true, dimension: 2 })
    await api.send({ method: 'POST', path: `${TABLES}/books/indexes/own`, body: own })
    await api.send({ method: 'POST', path: `${TABLES}/none` })
    const inserts = Object.fromEntries(
      ['a', 'h', 'z'].map((key) => [key, { isbn: key, price: 3, author: { name: 'Ann' } }]),
    )
    const batch = JSON.stringify({ inserts, sync_level: 'full_text' })
    await api.send({ method: 'POST', path: `${TABLES}/books/batch`, body: batch })
  })

  after(() => api[Symbol.asyncDispose]())

  async function get(path: string): Promise<unknown> {
    return JSON.parse((await api.send({ method: 'GET', path })).body)
  }

  it('is in the status of the table: documents, indexes on disk, and fields', async () => {
    const table = await get(`${TABLES}/books`)
    const empty = await get(`${TABLES}/none`)

    expect(table).to.include({ approximate_documents: 3, documents_behind: 0 })
    expect(table).to.have.nested.property('storage_status.index_disk_usage').that.is.a('number')
    expect(table).to.have.nested.property('schema.language', 'english')
    expect(table)
      .to.have.nested.property('dynamic_fields.fields')
      .that.deep.includes.members([
        { name: 'price', kind: 'number' },
        { name: 'author.name', kind: 'string' },
      ])
    expect(empty).to.include({ approximate_documents: 0, documents_behind: 0 })
    expect(empty).to.have.deep.property('dynamic_fields', { count: 0, is_full: false, fields: [] })
  })

  it('is in the list of tables, without the fields', async () => {
    const tables = await get(TABLES)

    expect(tables).to.have.nested.property('[0].approximate_documents', 3)
    expect(tables).to.have.nested.property('[0].documents_behind', 0)
    expect(tables).to.not.have.nested.property('[0].dynamic_fields')
  })

  it('is shown by table list and table get', async () => {
    const list = await runCommand(['table', 'list'], api)
    const one = await runCommand(['table', 'get', 'books'], api)

    expect(list.stdout).to.match(/^books +~3 .*full_text_index_v0.*own.* english /m)
    expect(list.stdout).to.match(/^none +0 +empty /m)
    expect(one.stdout).to.match(/^documents +about 3 documents$/m)
    expect(one.stdout).to.match(/^indexes .*full_text_index_v0 \(full_text\).*own \(embeddings\)/m)
    expect(one.stdout).to.match(/^language +english$/m)
    expect(one.stdout).to.match(/^fields +isbn \(string\), .*price \(number\)/m)
  })
})
