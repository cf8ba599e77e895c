import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')

interface Ready {
  readonly event: string
  readonly api: string
  readonly health: string
}

async function readyLine(child: ChildProcessWithoutNullStreams): Promise<Ready> {
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return JSON.parse(line)
}

async function output(child: ChildProcessWithoutNullStreams): Promise<[string, string]> {
  const [out, err] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return [out, err]
}

describe('quarry swarm', () => {
  let folder: string
  let running: ChildProcessWithoutNullStreams[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-swarm-'))
    running = []
  })

  afterEach(async () => {
    for (const child of running) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'close')
      }
    }
    await rm(folder, { recursive: true })
  })

  function quarry(args: readonly string[], preload?: string): ChildProcessWithoutNullStreams {
    const nodeArgs = preload === undefined ? [] : ['--require', preload]
    // A group of its own, so that a test can signal all of it, as a terminal does.
    const child = spawn(process.execPath, [...nodeArgs, BIN, ...args], {
      cwd: folder,
      detached: true,
    })
    running.push(child)
    return child
  }

  function swarm(...more: string[]): readonly string[] {
    const ports = ['--api-port', '0', '--health-port', '0']
    return ['swarm', '--data-dir', path.join(folder, 'data'), ...ports, ...more]
  }

  it('says in one line where it serves, and serves there', async () => {
    const child = quarry(swarm())

    const ready = await readyLine(child)
    const status = await fetch(`${ready.api}/api/v1/status`)
    const health = await fetch(`${ready.health}/healthz`)

    expect(ready.event).to.equal('ready')
    expect(ready.api).to.match(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
    expect(status.status).to.equal(200)
    expect(health.status).to.equal(200)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends in order on ${signal}, and keeps what was written`, async () => {
      const first = quarry(swarm())
      const { api } = await readyLine(first)
      await fetch(`${api}/api/v1/tables/books`, { method: 'POST' })
      first.kill(signal)
      await once(first, 'close')
      const second = quarry(swarm())
      const { api: again } = await readyLine(second)

      const table = await fetch(`${again}/api/v1/tables/books`)

      expect(first.exitCode).to.equal(0)
      expect(table.status).to.equal(200)
    })
  }

  it('ends at once on a second signal, while a request holds up the orderly end', async () => {
    const child = quarry(swarm())
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

  it('takes a Ctrl-C that reaches both wrapper and child as one', async () => {
    const preload = path.join(folder, 'older-node.cjs')
    await writeFile(
      preload,
      "Object.defineProperty(process.versions, 'node', { value: '20.0.0' }); delete process.execve",
    )
    const child = quarry(swarm(), preload)
    await readyLine(child)

    process.kill(-child.pid!, 'SIGINT')
    await once(child, 'close')

    expect(child.exitCode).to.equal(0)
  })

  it('lists every configuration problem at once', async () => {
    const config = path.join(folder, 'quarry.yaml')
    await writeFile(config, 'api_port: many\nnonsense: 1\n')

    const child = quarry(['swarm', '--config', config, '--health-port', '99999'])
    const [out, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(out).to.equal('')
    expect(err).to.contain('many').and.contain('nonsense').and.contain('99999')
  })

  it('explains a configuration file that is not there', async () => {
    const child = quarry(['swarm', '--config', 'none.yaml'])
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.contain('none.yaml')
  })

  it('explains a port that is taken', async () => {
    const first = quarry(swarm())
    const port = new URL((await readyLine(first)).api).port

    const args = ['--api-port', port, '--health-port', '0']
    const second = quarry(['swarm', '--data-dir', path.join(folder, 'other'), ...args])
    const [, err] = await output(second)

    expect(second.exitCode).to.equal(78)
    expect(err).to.contain(`port ${port} is taken`)
  })

  it('refuses to listen beyond this machine without --insecure', async () => {
    const child = quarry(swarm('--host', '0.0.0.0'))
    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.contain('--insecure')
  })

  it('demo loads packages, shows the tour, and leaves', async () => {
    const child = quarry(['demo', '--exit', '--data-dir', 'demo-data'])
    const [out, err] = await output(child)

    expect(child.exitCode, err).to.equal(0)
    expect(out).to.match(/loaded \d+ documents into packages/)
    expect(out.match(/^ {2}curl /gm)).to.have.length(12)
    expect(out).to.match(/description {2}.*\*json\*/i)
    expect(out).to.match(/^ {4}large +█+ +\d+$/m)
    expect(out).to.contain('409')
    expect(out).to.contain('"inserted": 2')
  })

  it('demo runs again over the data of its last run', async () => {
    await output(quarry(['demo', '--exit', '--data-dir', 'demo-data']))

    const child = quarry(['demo', '--exit', '--data-dir', 'demo-data'])
    const [, err] = await output(child)

    expect(child.exitCode, err).to.equal(0)
  })
})
