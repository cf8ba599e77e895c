// "Did you mean" through the API, over two shards.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLE = '/api/v1/tables/shops'
const DOCUMENTS = {
  a: { title: 'electric guitar' },
  b: { title: 'guitar strings' },
  z: { title: 'Guitar lessons' },
}

describe('suggestions of a query', () => {
  let dataDir: string
  let node: RunningNode
  let client: StoreClient

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-suggestions-'))
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
    client = new StoreClient(node.apiUrl)
    await client.createTable('shops', { split_keys: ['m'] })
    await client.batch('shops', { inserts: DOCUMENTS, sync_level: 'full_text' })
  })

  after(async () => {
    client[Symbol.dispose]()
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const MEANT = [
    {
      text: 'gutiar strings',
      corrected: 'guitar strings',
      words: [{ text: 'gutiar', offset: 0, length: 6, options: [{ text: 'guitar', doc_freq: 3 }] }],
    },
  ]

  it('come with the answer of a query that requests them', async () => {
    const body = { full_text_search: { query: 'gutiar strings' }, suggest: true }

    const { text } = await client.succeed('POST', `${TABLE}/query`, body)

    expect(JSON.parse(text).responses[0].suggestions).to.deep.equal(MEANT)
  })

  it('have their time in the profile, if they were looked for', async () => {
    const body = { full_text_search: { query: 'gutiar' }, profile: true }
    const phasesOf = async (more: object) => {
      const { text } = await client.succeed('POST', `${TABLE}/query`, { ...body, ...more })
      return JSON.parse(text).responses[0].profile.phases
    }

    expect((await phasesOf({ suggest: true })).suggest).to.be.greaterThan(0)
    expect(await phasesOf({})).to.not.have.property('suggest')
  })

  it('come with the answer of GET with suggest=true', async () => {
    const { text } = await client.succeed('GET', `${TABLE}/query?q=gutiar+strings&suggest=true`)

    expect(JSON.parse(text).responses[0].suggestions).to.deep.equal(MEANT)
  })

  it('are not computed without a request', async () => {
    const { text } = await client.succeed('GET', `${TABLE}/query?q=gutiar+strings`)

    expect(JSON.parse(text).responses[0]).to.not.have.property('suggestions')
  })
})
