import { open, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import type { RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'
import { head, RawClient } from '../support/servers/raw-client.ts'
import { slowdown } from '../support/slices/yardstick.ts'

const WORDS = '/api/v1/tables/words'
const INDEX = 'full_text_index_v0'
const DOCUMENTS = 6000
const WORDS_EACH = 8
const POLL_MS = 20
/**
 * Each of the expressions looks at every word of the table: many seconds of work in all. How much of it was done is
 * measured in time of the processor, of which other programs take none.
 */
const HEAVY = {
  filter_query: {
    disjuncts: Array.from({ length: 800 }, (_, i) => ({
      regexp: `.*(a|b)+${i}x[0-9]*y`,
      field: 'text',
    })),
  },
  aggregations: { w: { type: 'terms', field: 'text.keyword', size: 1000 } },
}

function documents(): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Array.from({ length: DOCUMENTS }, (_, i) => {
      const own = Array.from({ length: WORDS_EACH }, (__, j) => `w${i * WORDS_EACH + j}`)
      return [`${i % 2 === 0 ? 'a' : 'z'}/${i}`, { text: `same ${own.join(' ')}`, n: i }]
    }),
  )
}

/** The CPU time of all threads of this process, in which the store runs, on the machine of the yardstick. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / slowdown()
}

describe('queries that cannot be answered as asked', () => {
  let dataDir: string
  let node: RunningNode

  before(async function () {
    this.timeout(240_000)
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-query-failures-'))
    await start()
    await ask(WORDS, { split_keys: ['m'] })
    const written = await ask(`${WORDS}/batch`, { inserts: documents(), sync_level: 'full_text' })
    expect(written.status).to.equal(201)
  })

  after(async () => {
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function start(): Promise<void> {
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
  }

  async function ask(at: string, body: unknown) {
    const sent = { method: 'POST', path: at, body: JSON.stringify(body) }
    const { status, body: text } = await send(node.apiUrl, sent)
    return { status, value: JSON.parse(text) }
  }

  async function query(body: unknown) {
    const { status, value } = await ask(`${WORDS}/query`, body)
    expect(status, JSON.stringify(value)).to.equal(200)
    return value.responses[0]
  }

  async function index() {
    const { body } = await send(node.apiUrl, { method: 'GET', path: `${WORDS}/indexes/${INDEX}` })
    return JSON.parse(body)
  }

  async function metric(name: string): Promise<number> {
    const { body } = await send(node.healthUrl, { method: 'GET', path: '/metrics' })
    const line = body.split('\n').find((one) => one.startsWith(name))
    return Number(line?.split(' ').at(-1) ?? 0)
  }

  /** Every answer on the way says that it is not whole. */
  async function untilWhole(): Promise<void> {
    for (;;) {
      const { hits, error } = await query({ full_text_search: { query: 'same' }, count: true })
      if (error === undefined) {
        expect(hits.total).to.equal(DOCUMENTS)
        return
      }
      expect(hits.total).to.equal(DOCUMENTS / 2)
      expect(error).to.match(/^1 of 2 shards did not answer, so hits may be missing: /)
      await pause(POLL_MS)
    }
  }

  async function untilBuilt(): Promise<void> {
    for (;;) {
      const { status } = await index()
      if (!status.rebuilding && status.error === '' && status.total_indexed === DOCUMENTS) return
      await pause(POLL_MS)
    }
  }

  async function shardDirectory(): Promise<string> {
    const [shard] = Object.keys((await index()).shard_status).toSorted()
    return path.join(dataDir, 'indexes', String(shard))
  }

  it('end at their deadline with its status', async () => {
    const before = process.cpuUsage()
    const { status, value } = await ask(`${WORDS}/query`, { ...HEAVY, timeout: '30ms' })
    const cpuMs = cpuMsSince(before)

    expect(value.code).to.equal('DEADLINE_EXCEEDED')
    expect(value.error).to.match(/longer than 30 ms; narrow it down or give it a longer timeout/)
    expect(status).to.equal(504)
    expect(cpuMs).to.be.lessThan(2000)
  })

  it('end at their deadlines one by one in a body of several', async () => {
    const lines = [{ count: true }, { ...HEAVY, timeout: '1ms' }, { count: true }]
    const body = lines.map((line) => JSON.stringify(line)).join('\n')
    const headers = { 'content-type': 'application/x-ndjson' }

    const sent = { method: 'POST', path: `${WORDS}/query`, body, headers }
    const { status, body: text } = await send(node.apiUrl, sent)

    expect(status).to.equal(200)
    const responses: readonly { status: number }[] = JSON.parse(text).responses
    expect(responses.map((one) => one.status)).to.deep.equal([200, 504, 200])
  })

  it('end when their client disconnects, and free the index for others', async () => {
    const gone = 'quarry_http_requests_total{operation="queryTable",status="499"}'
    const body = JSON.stringify({ ...HEAVY, timeout: '600s' })
    using client = await RawClient.open(node.apiUrl)
    const type = { 'Content-Type': 'application/json', 'Content-Length': body.length }
    await client.write(head('POST', `${WORDS}/query`, type) + body)
    const before = await metric(gone)

    client.socket.destroy()
    const beforeNext = process.cpuUsage()
    const next = await query({ full_text_search: { query: 'w7' } })
    const cpuMs = cpuMsSince(beforeNext)
    while ((await metric(gone)) === before) await pause(POLL_MS)

    expect(next.hits.total).to.equal(1)
    expect(cpuMs).to.be.lessThan(2000)
  })

  it('are partial while an index cannot be built, and complete afterwards', async function () {
    this.timeout(240_000)
    const directory = await shardDirectory()
    await node.close()
    await rm(directory, { recursive: true })
    await writeFile(directory, 'in the way')

    await start()
    const result = await query({ full_text_search: { query: 'same' }, profile: true })
    const { status, shard_status } = await index()
    const { body } = await send(node.apiUrl, { method: 'GET', path: '/api/v1/status' })
    const { health, message } = JSON.parse(body)

    expect(health).to.equal('degraded')
    expect(message).to.match(
      /^text index ".*" of table "words" failed on 1 of 2 shards \(.*\); searches miss/,
    )
    expect(await metric('quarry_text_indexes_failed ')).to.equal(1)
    expect(result.hits.total).to.equal(DOCUMENTS / 2)
    expect(result.error).to.include(`the text index "${INDEX}" failed`)
    expect(result.profile.shards).to.deep.equal({ total: 2, successful: 1, failed: 1 })
    expect(status.error).to.not.equal('')
    expect(status.total_indexed).to.equal(DOCUMENTS / 2)
    expect(shard_status[path.basename(directory)].error).to.equal(status.error)

    await rm(directory)
    await untilWhole()
    await untilBuilt()
    expect((await stat(directory)).isDirectory()).to.equal(true)
  })

  it('report a damaged segment when they read it, and are complete after its rebuild', async function () {
    this.timeout(240_000)
    const directory = path.join(await shardDirectory(), `${INDEX}-v0`)
    await node.close()
    await start()
    await untilBuilt()
    const segments = (await readdir(directory)).filter((file) => file.endsWith('.segment'))
    expect(segments).to.not.deep.equal([])
    for (const file of segments) {
      await using handle = await open(path.join(directory, file), 'r+')
      const { size } = await handle.stat()
      await handle.write(Buffer.alloc(size))
    }

    const result = await query({ full_text_search: { query: 'same' }, order_by: [{ field: 'n' }] })
    const { status } = await index()

    expect(status.rebuilding).to.equal(true)
    expect(status.error).to.match(/segment/)
    expect(status.backfill_progress).to.be.lessThan(1)
    expect(result.hits.total).to.equal(DOCUMENTS / 2)
    expect(result.error).to.match(/1 of 2 shards did not answer.*segment/)
    await untilWhole()
    await untilBuilt()
  })

  it('are complete again after the files of an index were lost', async function () {
    this.timeout(240_000)
    const directory = await shardDirectory()
    await node.close()
    await rename(directory, `${directory}.lost`)
    await start()

    await untilWhole()
    await untilBuilt()
    await rm(`${directory}.lost`, { recursive: true })
  })
})
