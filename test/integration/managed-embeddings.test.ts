// Indexes whose vectors the store makes, over HTTP: their creation, writes that wait for vectors, queries by meaning.

import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import { EmbeddedCoordination } from '../../node/coordination/embedded-coordination.ts'
import { tableKey } from '../../node/catalog/records/table-record.ts'
import { LevelKvStore } from '../../node/storage/level-kv-store.ts'
import { NodeWithModel } from '../support/servers/node-with-model.ts'

const KEY = 'sk-written-plainly'
const NOWHERE = 'http://127.0.0.1:1'

describe('a managed embeddings index', () => {
  let node: NodeWithModel

  before(async () => {
    node = await NodeWithModel.start(new URL(NOWHERE).host)
    expect(await call('POST', '/tables/notes', {})).to.include({ status: 201 })
  })

  after(() => node[Symbol.asyncDispose]())

  const call: NodeWithModel['call'] = (method, at, body) => node.call(method, at, body)

  /** Changes the record of the table on disk while no node runs. Answers what was there. */
  async function editRecord(edit: (text: string) => string): Promise<string> {
    const clock = new ManualClock()
    await using store = await LevelKvStore.open(path.join(node.dataDir, 'catalog'), { clock })
    await using coordination = new EmbeddedCoordination(store, clock)
    const { entries } = await coordination.list(tableKey('notes'))
    for (const { key, value } of entries) {
      const changes = [{ type: 'put', key, value: Buffer.from(edit(value.toString())) }] as const
      await coordination.commit({ when: [], changes })
    }
    return entries.map(({ value }) => value.toString()).join()
  }

  const embedder = (changes: object = {}): object => ({
    provider: 'openai',
    model: 'm',
    url: node.model.url,
    api_key: KEY,
    ...changes,
  })
  const create = (name: string, config: object) =>
    call('POST', `/tables/notes/indexes/${name}`, { type: 'embeddings', ...config })

  it('asks its embedder how many numbers a vector has', async () => {
    const created = await create('probed', { field: 'text', embedder: embedder() })

    expect(created.status).to.equal(201)
    const { body } = await call('GET', '/tables/notes/indexes/probed')
    expect(body.config).to.deep.equal({
      name: 'probed',
      type: 'embeddings',
      field: 'text',
      embedder: embedder({ api_key: '***' }),
      dimension: 4,
      distance_metric: 'l2_squared',
      engine: 'usearch',
      quantization: 'f16',
    })
    expect(created.body).to.deep.equal({ config: body.config })
  })

  it('is created while its embedder is away, if its dimension is given', async () => {
    const away = { provider: 'quarry', url: NOWHERE }

    expect(await create('away', { field: 'a', dimension: 8, embedder: away })).to.include({
      status: 201,
    })
    expect((await create('unknown', { field: 'a', embedder: away })).status).to.equal(503)
    expect((await call('GET', '/tables/notes/indexes/unknown')).status).to.equal(404)
  })

  it('may belong to a table from its beginning', async () => {
    const indexes = { meaning: { type: 'embeddings', template: '{{text}}', embedder: embedder() } }
    const bad = { meaning: { type: 'embeddings', embedder: embedder({ provider: 'acme' }) } }

    const created = await call('POST', '/tables/born', { indexes })
    const refused = await call('POST', '/tables/unborn', { indexes: bad })

    expect(created.status).to.equal(201)
    expect(JSON.stringify(created.body)).to.include('"dimension":4').and.not.include(KEY)
    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.match(/^index "meaning": embedder.provider: "acme" is unknown/)
    expect((await call('GET', '/tables/unborn')).status).to.equal(404)
  })

  const refusals: readonly (readonly [object | (() => object), number, RegExp])[] = [
    [{ field: 'a..b' }, 400, /field: "a..b" does not parse at character 1/],
    [{ field: '$.items[*]' }, 400, /does not parse at character 7/],
    [{ field: 'a', template: '{{a}}' }, 400, /field and template exclude each other/],
    [{ template: '{{#if a}}' }, 400, /template: line 1, column 1: this block is not closed/],
    [{ sparse: true }, 400, /no provider makes sparse vectors/],
    [{ embedder: { provider: 'acme' } }, 400, /embedder.provider: "acme" is unknown; use one of/],
    [{ embedder: { provider: 'anthropic', model: 'm' } }, 400, /anthropic" has no embedder/],
    [{ embedder: { provider: 'bedrock', model: 'm' } }, 400, /model/],
    [{ embedder: { provider: 'quarry', colour: 1 } }, 400, /"?colour"?/],
    [{ embedder: { provider: 'quarry', url: 'ftp://a' } }, 400, /embedder.url must be a URL/],
    [
      { embedder: { provider: 'quarry', url: NOWHERE } },
      503,
      /^index "bad": quarry quarry-static-en: ./,
    ],
    [
      { embedder: { provider: 'openai', model: 'm', url: 'https://169.254.169.254' } },
      400,
      /openai m: .*address is not allowed/,
    ],
    [
      () => ({ embedder: embedder(), dimension: 5 }),
      400,
      /dimension is 5, and openai .* 4 numbers/,
    ],
    [{ embedder: { provider: 'openai', api_key: '${secret:none}' } }, 503, /\$\{secret:none\}/],
    [{ chunker: { provider: 'acme' } }, 400, /chunker.provider: "acme" is unknown/],
    [{ chunker: { provider: 'quarry', max_chunks: 0 } }, 400, /chunker.max_chunks must be/],
    [{ summarizer: { provider: 'cohere', model: 'm' } }, 400, /"cohere" has no generator/],
  ]
  for (const [config, status, message] of refusals) {
    it(`is refused: ${message.source}`, async () => {
      const refused = await create('bad', typeof config === 'function' ? config() : config)

      expect(refused.body?.error).to.match(message)
      expect(refused.status).to.equal(status)
      expect((await call('GET', '/tables/notes/indexes/bad')).status).to.equal(404)
    })
  }

  it('is refused when the embedder refuses its key, which nobody is told', async () => {
    node.model.failNext({ kind: 'echo' })

    const refused = await create('bad', { embedder: embedder() })

    expect(refused.status).to.equal(400)
    expect(refused.body.error)
      .to.match(/openai m.*status 401/)
      .and.not.include(KEY)
  })

  it('takes no vectors from clients', async () => {
    const inserts = { a: { text: 'tide', _embeddings: { probed: [1, 2, 3, 4] } } }

    const refused = await call('POST', '/tables/notes/batch', { inserts })

    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.include('_embeddings["probed"]: the store makes the vectors')
  })

  it('never shows a key in listings', async () => {
    for (const at of ['/tables', '/tables/notes', '/tables/notes/indexes']) {
      expect(JSON.stringify((await call('GET', at)).body)).to.not.include(KEY)
    }
  })

  it('keeps a key sealed, and opens it after a restart', async () => {
    const kept: string[] = []
    await node.restartAfter(async () => {
      for (const entry of await readdir(node.dataDir, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name)
        if (entry.isFile() && (await readFile(file)).includes(KEY)) kept.push(file)
      }
    })
    node.model.received.length = 0
    const inserts = { sealed: { text: 'ebb' } }

    const { status } = await call('POST', '/tables/notes/batch', {
      inserts,
      sync_level: 'enrichments',
    })

    expect(kept).to.deep.equal([])
    expect(status).to.equal(201)
    expect(node.model.received.map(({ headers }) => headers.authorization)).to.include(
      `Bearer ${KEY}`,
    )
  })

  it('names a key that an earlier version kept in plain, and seals it with the next change', async () => {
    await node.restartAfter(() => editRecord((text) => text.replaceAll(/\$\{sealed:[^}]*\}/g, KEY)))
    const before = await call('GET', '/status')
    const index = { type: 'embeddings', external: true, dimension: 2 }
    expect(await call('POST', '/tables/notes/indexes/other', index)).to.include({ status: 201 })
    const after = await call('GET', '/status')
    node.model.received.length = 0
    const body = { inserts: { moved: { text: 'flow' } }, sync_level: 'enrichments' }
    expect(await call('POST', '/tables/notes/batch', body)).to.include({ status: 201 })
    const record = await node.restartAfter(() => editRecord((text) => text))

    expect(before.body.message).to.include('"probed" of table "notes" keeps the key of a model')
    expect(before.body.health).to.equal('healthy')
    expect(after.body.message).to.not.include('keeps the key')
    expect(record).to.include('${sealed:').and.not.include(KEY)
    expect(node.model.received.map(({ headers }) => headers.authorization)).to.include(
      `Bearer ${KEY}`,
    )
  })

  it('says which key no secret opens, and does everything else', async () => {
    const file = path.join(node.dataDir, 'provider-keys.secret')
    const secret = await readFile(file)
    await node.restartAfter(() => rm(file))
    const inserts = { unopened: { text: 'neap' } }

    const status = await call('GET', '/status')
    const written = await call('POST', '/tables/notes/batch', { inserts })
    const asked = await call('POST', '/tables/notes/query', {
      semantic_search: 'neap',
      indexes: ['probed'],
    })
    const created = await create('fresh', { field: 'b', embedder: embedder() })
    const later = await call('GET', '/status')
    await node.restartAfter(() => writeFile(file, secret))
    const again = await call('GET', '/status')
    expect(await call('DELETE', '/tables/notes/indexes/fresh')).to.include({ status: 204 })

    const remedy = 'accept the secret again by which it was sealed, or create the index again'
    expect(status.body.message)
      .to.include('index "probed" of table "notes" has a key of a model that no secret of this')
      .and.include(remedy)
    expect(status.body.health).to.equal('healthy')
    expect(status.body.model_keys).to.include({ first: 0, accepted: 0, plain: 0 })
    expect(status.body.model_keys.none).to.be.above(0)
    expect(written.status).to.equal(201)
    expect(asked.status).to.equal(503)
    expect(asked.body.error)
      .to.include('openai m: api_key: no secret of this node')
      .and.include(remedy)
    expect(created.status).to.equal(201)
    expect(later.body.model_keys).to.include({ first: 1, none: status.body.model_keys.none })
    expect(again.body.model_keys).to.include({ first: status.body.model_keys.none, none: 1 })
  })

  it('takes no sealed key from a client', async () => {
    const refused = await create('bad', { embedder: embedder({ api_key: '${sealed:abc}' }) })

    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.include('embedder.api_key')
  })
})
