import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startNode } from '../../node/main.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { countTo } from '../support/loads/load.ts'
import { failedStart, StoreProcess } from '../support/processes/store-process.ts'
import { freePorts } from '../support/servers/free-ports.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const TABLES = 12

/** Runs a store that may have so many files open. */
const withFiles = (limit: number) => ['sh', '-c', `ulimit -n ${limit} && exec "$0" "$@"`]

describe('a store with many tables', function () {
  this.timeout(240_000)

  let folder: string
  let dataDir: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-tables-'))
    dataDir = path.join(folder, 'data')
  })

  afterEach(async () => rm(folder, { recursive: true }))

  it('answers the health port while it opens its tables, and says how far it is', async () => {
    {
      await using store = await StoreProcess.start({ dataDir })
      using client = new StoreClient(store.api)
      for (const at of countTo(TABLES)) await client.createTable(`t${at}`, {})
      await store.stop()
    }
    const [healthPort = 0] = await freePorts(1)
    const flags = { dataDir, apiPort: '0', healthPort: `${healthPort}`, logLevel: 'error' }
    const ask = (route: string) => fetch(`http://127.0.0.1:${healthPort}/${route}`)
    const starting = startNode(parseNodeConfig({}, flags))
    const start = { isOver: false }
    void starting.then(() => {
      start.isOver = true
    })
    const seen: { readonly health: number; readonly ready: number; readonly tables: unknown }[] = []

    while (!start.isOver) {
      try {
        const [health, ready] = [await ask('healthz'), await ask('readyz')]
        const { tables }: { readonly tables?: unknown } = JSON.parse(await ready.text())
        seen.push({ health: health.status, ready: ready.status, tables })
      } catch {
        continue // the port is not open yet
      }
    }
    await using node = await starting
    const after = await fetch(`${node.healthUrl}/readyz`)

    expect(new Set(seen.map(({ health }) => health))).to.deep.equal(new Set([200]))
    const opening = seen.filter(({ tables }) => tables !== undefined)
    expect(opening.length, JSON.stringify(seen)).to.be.greaterThan(0)
    for (const { ready, tables } of opening) {
      expect(ready).to.equal(503)
      expect(tables).to.have.property('total').that.is.at.least(TABLES)
    }
    expect(after.status).to.equal(200)
  })

  it('refuses a table whose files it could not open, in words, and serves and starts on', async () => {
    const refusal = await (async () => {
      await using store = await StoreProcess.start({ dataDir, under: withFiles(300) })
      using client = new StoreClient(store.api)
      for (const at of countTo(200)) {
        const { status, text } = await client.send('POST', `/api/v1/tables/t${at}`, {})
        if (status < 300) continue
        await client.batch('t0', { inserts: { alive: { n: 1 } } })
        await store.kill()
        return { status, text, tables: at }
      }
      return undefined
    })()

    expect(refusal?.text).to.match(/needs about 5 more open files.*"UNAVAILABLE"/)
    expect(refusal?.status).to.equal(503)
    expect(refusal?.tables).to.be.greaterThan(5)
    await using again = await StoreProcess.start({ dataDir, under: withFiles(300) })
    using client = new StoreClient(again.api)
    expect((await client.lookup('t0', 'alive')).document).to.deep.equal({ n: 1 })
    await again.stop()

    const { log, exitCode } = await failedStart({ dataDir, under: withFiles(64) })
    expect(log).to.match(/shards of the tables need about \d+ open files.*ulimit -n/s)
    expect(exitCode).to.not.equal(0)
  })
})
