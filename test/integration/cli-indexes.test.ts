import { expect } from 'chai'
import { startApi } from '../contract/api-harness.ts'
import type { Api } from '../contract/api-harness.ts'
import { until } from '../support/until.ts'
import { ServiceDouble } from './cli-service-double.ts'
import { runCommand } from './cli-session.ts'

describe('quarry index', () => {
  let api: Api

  before(async () => {
    api = await startApi({ isSearched: true })
    await runCommand(['table', 'create', 'books'], api)
  })

  after(() => api[Symbol.asyncDispose]())

  it('creates, lists, shows and drops an index', async () => {
    const config = '{"type":"embeddings","external":true,"dimension":2}'
    const created = await runCommand(['index', 'create', 'books', 'own', '--config', config], api)
    let listed = created
    await until(async () => {
      listed = await runCommand(['index', 'list', 'books'], api)
      return !listed.stdout.includes('being built')
    })
    const shown = await runCommand(['index', 'get', 'books', 'own'], api)
    const dropped = await runCommand(['index', 'drop', 'books', 'own'], api)
    const gone = await runCommand(['index', 'get', 'books', 'own'], api)

    expect(created.stdout).to.equal(
      'created index own of table books; see how far it is with: quarry index get books own\n',
    )
    expect(listed.stdout).to.match(/^INDEX +TYPE +DOCUMENTS +ON DISK +STATE\n/)
    expect(listed.stdout).to.match(/^full_text_index_v0 +full_text +0 .*complete$/m)
    expect(listed.stdout).to.match(/^own +embeddings +0 .*complete$/m)
    expect(shown.stdout).to.match(
      /^own\ntype +embeddings\n[^]*\ndimension +2\n[^]*state +complete\n$/,
    )
    expect(dropped.stdout).to.equal('dropped index own of table books\n')
    expect(gone.exitCode).to.equal(1)
  })

  it('says what is wrong with an option, and what the service refuses', async () => {
    const noJson = await runCommand(['index', 'create', 'books', 'x', '--config', '{'], api)
    const both = ['index', 'create', 'books', 'x', '--config', '{}', '--field', 'title']
    const refused = await runCommand(['index', 'create', 'books', 'x', '--config', '{}'], api)
    const noTable = await runCommand(['index', 'list', 'films'], api)

    expect(noJson).to.deep.include({
      exitCode: 2,
      stderr: `error: --config: not JSON; write it like '{"type":"full_text"}'\n`,
    })
    expect((await runCommand(both, api)).stderr).to.contain('--config has all settings')
    expect(refused.stderr).to.contain('type')
    expect(noTable.stderr).to.contain('films')
  })
})

describe('quarry index, of what documents mean', () => {
  let service: ServiceDouble

  beforeEach(async () => {
    service = await ServiceDouble.open()
  })

  afterEach(() => service[Symbol.asyncDispose]())

  it('warns of a field that no document of the table has', async () => {
    const fields = [{ name: 'title', kind: 'string' }, { name: 'author.name', kind: 'string' }] // prettier-ignore
    const dynamic = { count: 2, is_full: false, fields }
    const body = JSON.stringify({ name: 'books', dynamic_fields: dynamic })
    service.intervene = ({ method }) =>
      method === 'POST' ? { status: 201, body: '' } : { status: 200, body }
    const create = (field: string) =>
      runCommand(['index', 'create', 'books', 'meaning', '--field', field], service)

    const missing = await create('titel')

    expect(missing.exitCode).to.equal(0)
    expect(missing.stderr).to.equal(
      'warning: no document of books has a field "titel" yet; it has: title, author.name\n',
    )
    expect((await create('title')).stderr).to.equal('')
    expect((await create('author')).stderr).to.equal('')
  })

  it('asks for the shipped model by cosine, unless another one is named', async () => {
    service.intervene = () => ({ status: 201, body: '' })

    await runCommand(['index', 'create', 'books', 'meaning', '--field', 'title'], service)
    await runCommand(['index', 'create', 'a b', 'deep', '--template', '{{t}}', '--model', 'm'], service) // prettier-ignore

    const created = service.seen.filter(({ method }) => method === 'POST')
    expect(created.map(({ path, body }) => [path, JSON.parse(body)])).to.deep.equal([
      [
        '/tables/books/indexes/meaning',
        { type: 'embeddings', field: 'title', distance_metric: 'cosine' },
      ],
      [
        '/tables/a%20b/indexes/deep',
        {
          type: 'embeddings',
          template: '{{t}}',
          embedder: { provider: 'quarry', model: 'm' },
          distance_metric: 'cosine',
        },
      ],
    ])
  })

  it('tells how far the vectors are, why there are none, and which documents are parked', async () => {
    const enrichment = { pending: 1200, parked: 1, progress: 0.425, error: 'openai m: status 401' }
    const { error } = enrichment
    const status = { total_indexed: 7, disk_usage: 2048, rebuilding: false, error, enrichment }
    const config = { name: 'meaning', type: 'embeddings', embedder: { provider: 'openai' } }
    const parked_documents = [{ _id: 'book/1', attempts: 1, error: 'title must be a string' }]
    const body = JSON.stringify({ config, status, parked_documents, shard_status: {} })
    service.intervene = () => ({ status: 200, body })

    const { stdout } = await runCommand(['index', 'get', 'books', 'meaning'], service)

    expect(service.seen[0]?.path).to.equal('/tables/books/indexes/meaning?parked=10')
    expect(stdout).to.contain('embedder    {"provider":"openai"}\n')
    expect(stdout).to.contain(
      'state       looking at documents, 42 %; 1,200 documents waiting for a vector; ' +
        '1 document parked; openai m: status 401\n',
    )
    expect(stdout).to.match(/\nPARKED DOCUMENT +WHY\nbook\/1 +title must be a string\n$/)
  })
})
