// A bit that flips in the table file of a store in swarm mode, where no other replica has the document.

import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

async function ask(node: RunningNode, method: string, at: string, body?: unknown) {
  const { status, body: text } = await send(node.apiUrl, {
    method,
    path: `/api/v1/${at}`,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status, value: text === '' ? undefined : JSON.parse(text) }
}

describe('a store in swarm mode with a damaged document', () => {
  let dataDir = ''

  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-damaged-'))
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  function start(): Promise<RunningNode> {
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    return startNode(parseNodeConfig({}, flags))
  }

  /** Flips a bit in the middle of bytes that cannot be packed, wherever a table file has them. */
  async function flipInside(bytes: Buffer): Promise<number> {
    let flipped = 0
    const shards = path.join(dataDir, 'shards')
    const files = (await readdir(shards, { recursive: true })).filter((at) => at.endsWith('.ldb'))
    for (const file of files.map((name) => path.join(shards, name))) {
      const content = await readFile(file)
      const at = content.indexOf(bytes)
      if (at === -1) continue
      const middle = at + (bytes.length >> 1)
      content[middle] = (content[middle] ?? 0) ^ 1
      await writeFile(file, content)
      flipped += 1
    }
    return flipped
  }

  it('answers CORRUPTION for it, everything else as it is, and says so in its status', async () => {
    const documents = Object.fromEntries(
      KEYS.map((key) => [key, { text: randomBytes(3000).toString('base64') }]),
    )
    const first = await start()
    await ask(first, 'POST', 'tables/books', { num_shards: 1, indexes: {} })
    const written = await ask(first, 'POST', 'tables/books/batch', { inserts: documents })
    expect(written.status).to.be.within(200, 201)
    const { value: before } = await ask(first, 'GET', 'status')
    expect(Object.values(before.shards)).to.have.nested.property('[0].state', 'serving')
    await first.close()
    expect(await flipInside(Buffer.from(documents['d']?.text ?? ''))).to.equal(1)

    const node = await start()

    const damaged = await ask(node, 'GET', 'tables/books/lookup/d')
    expect(damaged).to.have.property('status', 500)
    expect(damaged.value).to.include({ code: 'CORRUPTION' })
    for (const key of KEYS.filter((other) => other !== 'd')) {
      const found = await ask(node, 'GET', `tables/books/lookup/${key}`)
      expect(found, key).to.deep.equal({ status: 200, value: documents[key] })
    }
    const { value: status } = await ask(node, 'GET', 'status')
    expect(status.health).to.not.equal('healthy')
    const [shard] = Object.keys(status.shards)
    expect(status.shards[shard ?? '']).to.include({ state: 'failed' })
    expect(status.message).to.include('does not match its checksum').and.include(shard)
    await node.close()
  })
})
