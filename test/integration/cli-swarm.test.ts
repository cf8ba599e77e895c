import { once } from 'node:events'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { readProduct } from '../../lib/process/product.ts'
import { CommandFolder, output, parseLog, readyLine } from '../support/processes/quarry-command.ts'

const { version: VERSION } = readProduct()

describe('quarry swarm', () => {
  let folder: CommandFolder

  beforeEach(async () => {
    folder = await CommandFolder.open()
  })

  afterEach(() => folder[Symbol.asyncDispose]())

  function swarm(...more: string[]): readonly string[] {
    const ports = ['--api-port', '0', '--health-port', '0']
    return ['swarm', '--data-dir', path.join(folder.path, 'data'), ...ports, ...more]
  }

  it('prints one line with its addresses, and serves there', async () => {
    const child = folder.quarry(swarm())

    const ready = await readyLine(child)
    const status = await fetch(`${ready.api}/api/v1/status`)
    const health = await fetch(`${ready.health}/healthz`)

    expect(ready.event).to.equal('ready')
    expect(ready.api).to.match(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
    expect(status.status).to.equal(200)
    expect(health.status).to.equal(200)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends in order on ${signal}, and keeps all writes`, async () => {
      const first = folder.quarry(swarm())
      const { api } = await readyLine(first)
      await fetch(`${api}/api/v1/tables/books`, { method: 'POST' })
      first.kill(signal)
      await once(first, 'close')
      const second = folder.quarry(swarm())
      const { api: again } = await readyLine(second)

      const table = await fetch(`${again}/api/v1/tables/books`)

      expect(first.exitCode).to.equal(0)
      expect(table.status).to.equal(200)
    })
  }

  it('keeps every file of the data directory from other users', async () => {
    const child = folder.quarry(swarm())
    const { api } = await readyLine(child)
    const table = `${api}/api/v1/tables/books`
    await fetch(table, { method: 'POST' })
    const body = JSON.stringify({ inserts: { a: { t: 'sea' } }, sync_level: 'full_text' })
    const headers = { 'content-type': 'application/json' }
    const { status } = await fetch(`${table}/batch`, { method: 'POST', headers, body })
    child.kill('SIGTERM')
    await once(child, 'close')

    const root = path.join(folder.path, 'data')
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    const modes = entries.map(async (entry) => {
      const place = path.join(entry.parentPath, entry.name)
      const { mode } = await stat(place)
      return [path.relative(root, place), entry.isDirectory(), (mode & 0o777).toString(8)] as const
    })
    const open = (await Promise.all(modes)).filter(([, isDirectory, mode]) => {
      return mode !== (isDirectory ? '700' : '600')
    })
    expect(status).to.equal(201)
    expect(((await stat(root)).mode & 0o777).toString(8)).to.equal('700')
    expect(entries.length).to.be.greaterThan(10)
    expect(open).to.deep.equal([])
  })

  it('logs its version, its data directory and the reason of its stop', async () => {
    const child = folder.quarry(swarm())
    const log = text(child.stderr)
    const { api } = await readyLine(child)
    child.kill('SIGTERM')
    await once(child, 'close')

    const lines = parseLog(await log)
    const about = (message: string) => lines.find(({ msg }) => msg === message)
    expect(about('server starts')).to.include({
      level: 'info',
      server: 'store',
      version: VERSION,
      node: process.version,
      dataDir: path.join(folder.path, 'data'),
    })
    expect(about('server serves')).to.include({ api })
    expect(about('server stops')).to.include({ reason: 'SIGTERM' })
    expect(lines.at(-1)?.['msg']).to.equal('server stopped')
    for (const { time, pid } of lines) {
      expect(time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(pid).to.be.a('number')
    }
  })

  it('logs every request at level debug, and no request at other levels', async () => {
    const logs = await Promise.all(
      ['debug', 'info'].map(async (level) => {
        const data = path.join(folder.path, level)
        const ports = ['--api-port', '0', '--health-port', '0']
        const child = folder.quarry(['swarm', '--data-dir', data, ...ports, '--log-level', level])
        const log = text(child.stderr)
        const { api } = await readyLine(child)
        const headers = { 'x-request-id': 'mine' }
        await fetch(`${api}/api/v1/tables/none/lookup/a`, { headers })
        await fetch(`${api}/api/v1/tables?prefix=x`)
        child.kill('SIGTERM')
        await once(child, 'close')
        return parseLog(await log).filter(({ msg }) => msg === 'request answered')
      }),
    )

    const [debug = [], info] = logs
    expect(info).to.deep.equal([])
    expect(debug).to.have.length(2)
    const lookup = {
      requestId: 'mine',
      operation: 'lookupDocument',
      method: 'GET',
      status: 404,
    }
    expect(JSON.stringify(debug)).to.not.match(/lookup\/|prefix=/)
    expect(debug[0]).to.include({ level: 'debug', ...lookup })
    expect(debug[0]?.['ms']).to.be.a('number')
    expect(debug[1]).to.include({ operation: 'listTables', status: 200 })
  })

  it('ends at once on a second signal, while a request delays the orderly end', async () => {
    const child = folder.quarry(swarm())
    const { api } = await readyLine(child)
    const slow = request(`${api}/api/v1/tables/books`, { method: 'POST' })
    slow.on('error', () => {}) // cut off when the process ends
    slow.setHeader('content-type', 'application/json')
    slow.setHeader('expect', '100-continue')
    slow.flushHeaders()
    await once(slow, 'continue')

    // The request keeps the first signal from ending the process; one of the next does.
    const signals = setInterval(() => child.kill('SIGTERM'), 100)
    await once(child, 'close')
    clearInterval(signals)

    expect(child.exitCode).to.equal(130)
  })

  it('treats a Ctrl-C that reaches both wrapper and child as one', async () => {
    const preload = path.join(folder.path, 'older-node.cjs')
    await writeFile(
      preload,
      "Object.defineProperty(process.versions, 'node', { value: '20.0.0' }); delete process.execve",
    )
    const child = folder.quarry(swarm(), preload)
    await readyLine(child)

    process.kill(-child.pid!, 'SIGINT')
    await once(child, 'close')

    expect(child.exitCode).to.equal(0)
  })

  it('lists every configuration problem at once', async () => {
    const config = path.join(folder.path, 'quarry.yaml')
    await writeFile(config, 'api_port: many\nnonsense: 1\n')

    const child = folder.quarry(['swarm', '--config', config, '--health-port', '99999'])
    const [out, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(out).to.equal('')
    expect(err).to.contain(`- ${config}: api_port: "many" is not an integer from 0 to 65535`)
    expect(err).to.contain(`- ${config}: nonsense: unknown setting`)
    expect(err).to.contain('- --health-port: "99999" is not')
  })

  it('explains a missing configuration file', async () => {
    const child = folder.quarry(['swarm', '--config', 'none.yaml'])
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.contain('none.yaml')
  })

  it('explains a port that is in use', async () => {
    const first = folder.quarry(swarm())
    const port = new URL((await readyLine(first)).api).port

    const args = ['--api-port', port, '--health-port', '0']
    const second = folder.quarry(['swarm', '--data-dir', path.join(folder.path, 'other'), ...args])
    const [, err] = await output(second)

    expect(second.exitCode).to.equal(78)
    expect(err).to.contain(`port ${port} is in use`)
  })

  it('explains an unknown host in one line', async () => {
    const child = folder.quarry(swarm('--host', 'no.such.host.invalid', '--insecure'))
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.match(/^error: host no\.such\.host\.invalid is not known: give .* --host\n$/m)
    expect(err).to.not.match(/^\s+at /m)
  })

  it('explains in one line a data directory that cannot be made', async () => {
    await writeFile(path.join(folder.path, 'file'), '')

    const child = folder.quarry(['swarm', '--data-dir', path.join(folder.path, 'file', 'data')])
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.match(/^error: the data directory \S+ lies below a file: name a directory .*\n$/)
  })

  it('explains a data directory that another process uses, like a port that is in use', async () => {
    await readyLine(folder.quarry(swarm()))

    const second = folder.quarry(swarm())
    const [, err] = await output(second)

    expect(second.exitCode).to.equal(78)
    expect(err).to.match(/^error: the data directory .* is in use by another process; .*\n$/m)
  })

  it('refuses to listen beyond this machine without --insecure', async () => {
    const child = folder.quarry(swarm('--host', '0.0.0.0'))
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.contain('--insecure')
  })

  it('demo loads packages, shows the tour, and leaves', async () => {
    const child = folder.quarry(['demo', '--exit', '--data-dir', 'demo-data'])
    const [out, err] = await output(child)

    expect(child.exitCode, err).to.equal(0)
    expect(out).to.match(/loaded \d+ documents into packages/)
    expect(out.match(/^ {2}curl /gm)).to.have.length(15)
    expect(out).to.match(/description {2}.*\*json\*/i)
    expect(out).to.match(/^ {4}large +█+ +\d+$/m)
    expect(out).to.match(
      /^▸ Search by meaning$[^▸]*^ +0\.0164  \S+@\d\S+  meaning 0\.\d{4}$[^▸]*4 hits in/m,
    )
    expect(out).to.contain('409')
    expect(out).to.contain('"inserted": 2')
  })

  it('demo leaves the default data directory to the swarm', async () => {
    await output(folder.quarry(['demo', '--exit']))

    const child = folder.quarry(['swarm', '--api-port', '0', '--health-port', '0'])
    const { api } = await readyLine(child)
    const tables = await fetch(`${api}/api/v1/tables`)

    expect(await tables.json()).to.deep.equal([])
  })

  it('demo runs again over the data of its last run', async () => {
    await output(folder.quarry(['demo', '--exit', '--data-dir', 'demo-data']))

    const child = folder.quarry(['demo', '--exit', '--data-dir', 'demo-data'])
    const [, err] = await output(child)

    expect(child.exitCode, err).to.equal(0)
  })
})
