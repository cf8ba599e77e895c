// What a client sends comes back as it was sent: a table's schema and its documents.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = '/api/v1/tables/people'
const DOCUMENT_SCHEMAS = { p: { schema: { properties: { name: { type: 'string' } } } } }

describe('what a client sends', () => {
  let dataDir: string
  let node: RunningNode
  let client: StoreClient

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-sent-'))
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
    client = new StoreClient(node.apiUrl)
  })

  afterEach(() => client.succeed('DELETE', TABLE))

  after(async () => {
    client[Symbol.dispose]()
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function schema() {
    return JSON.parse((await client.succeed('GET', TABLE)).text).schema
  }

  const schemas = {
    'without settings': {},
    'with types alone': { default_type: 'p', document_schemas: DOCUMENT_SCHEMAS },
    'with settings that are the defaults': { enforce_types: false, ttl_field: '_timestamp' },
    'with templates': {
      dynamic_templates: [
        { match: 'a*', mapping: { type: 'keyword' } },
        { match: 'b*', mapping: { type: 'text', include_in_all: true, store: false } },
      ],
    },
  }
  for (const [kind, sent] of Object.entries(schemas)) {
    it(`as a schema ${kind} comes back without additions`, async () => {
      await client.createTable('people', { schema: sent })
      const created = await schema()
      await client.succeed('PUT', `${TABLE}/schema`, sent)

      expect(created).to.deep.equal({ version: 0, ...sent })
      expect(await schema()).to.deep.equal({ version: 0, ...sent })
    })
  }

  it('as a schema has the same version with its defaults written out', async () => {
    await client.createTable('people', { schema: { document_schemas: DOCUMENT_SCHEMAS } })
    const written = { enforce_types: false, ttl_field: '_timestamp' }
    await client.succeed('PUT', `${TABLE}/schema`, {
      document_schemas: DOCUMENT_SCHEMAS,
      ...written,
    })

    expect((await schema()).version).to.equal(0)
  })

  it('as a document keeps every byte, with a _type in front if it had none and there is a default', async () => {
    await client.createTable('people', {
      schema: { default_type: 'p', document_schemas: DOCUMENT_SCHEMAS },
    })
    const body = '{"inserts":{"a":{"name":"x","n":1.50e1},"b":{"n":1.0,"_type":"p"}}}'
    await client.succeed('POST', `${TABLE}/batch`, body)

    const texts = ['a', 'b'].map(async (key) => {
      return (await client.succeed('GET', `${TABLE}/lookup/${key}`)).text
    })
    expect(await Promise.all(texts)).to.deep.equal([
      '{"_type":"p","name":"x","n":1.50e1}',
      '{"n":1.0,"_type":"p"}',
    ])
  })
})
