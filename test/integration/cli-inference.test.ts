import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { treeOf } from '../../bench/process-tree.ts'
import { writeTinyEmbedder } from '../support/inference/model-directories.ts'
import { CommandFolder, output, readyLine } from '../support/processes/quarry-command.ts'
import { freePorts, listenAt } from '../support/servers/free-ports.ts'
import { until } from '../support/until.ts'

const HELLO_BYTES = 16 + 4 * 4
const USUAL_HEALTH_PORT = 4201

describe('quarry inference', () => {
  let folder: CommandFolder

  beforeEach(async () => {
    folder = await CommandFolder.open()
  })

  afterEach(() => folder[Symbol.asyncDispose]())

  function inference(...more: string[]): ChildProcessWithoutNullStreams {
    return folder.quarry(['inference', '--port', '0', '--health-port', '0', ...more])
  }

  it('prints one line with its addresses, and serves there', async () => {
    const child = inference()

    const ready = await readyLine(child)
    const vector = await embed(ready.api, 'builtin-hash')
    const health = await fetch(`${ready.health}/healthz`)

    expect(ready.event).to.equal('ready')
    expect(vector).to.have.length(16 + 384 * 4)
    expect(health.status).to.equal(200)
  })

  it('finishes running requests when it is told to end, and leaves no process behind', async () => {
    await writeTinyEmbedder(path.join(folder.path, 'models/embedders/slow'), { products: 30 })
    const child = inference('--workers', '2')
    const log = text(child.stderr)
    const { api, health } = await readyLine(child)
    const answer = embed(api, 'slow')
    await until(async () => (await metric(health, 'requests_running')) === 1)
    await until(async () => (await metric(health, 'loaded_models')) === 1)
    const group = await descendantsOf(child.pid!)

    child.kill('SIGTERM')

    expect(await answer).to.have.length(HELLO_BYTES)
    const [code, signal] = await once(child, 'close')
    expect([code, signal]).to.deep.equal([0, null])
    expect(await log).to.not.match(/Napi|abort|"level":"(?:error|fatal)"/)
    expect(group.length).to.be.at.least(2)
    expect(await alive(group)).to.deep.equal([])
  })

  it('serves again under a supervisor when its process was killed, and ends in order with it', async () => {
    const child = inference('--supervise', '60')
    const lines = createInterface({ input: child.stdout })
    const readies = lines[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await readies.next()).value ?? '')
    const log = text(child.stderr)
    const first = await next()
    const [server] = await descendantsOf(child.pid!)

    process.kill(server!, 'SIGKILL')
    const second = await next()

    expect(await embed(second.api, 'builtin-hash')).to.have.length(16 + 384 * 4)
    expect(second.health).to.not.equal(first.health)
    const group = await descendantsOf(child.pid!)
    child.kill('SIGTERM')
    expect(await once(child, 'close')).to.deep.equal([0, null])
    expect(await alive(group)).to.deep.equal([])
    expect(await log)
      .to.include('was ended by SIGKILL')
      .and.include('server stopped')
  })

  it('keeps on under a supervisor when its server cannot start', async () => {
    const child = inference('--supervise', '60', '--config', 'settings.yaml')
    const lines = createInterface({ input: child.stderr })
    const seen: string[] = []
    lines.on('line', (line) => seen.push(line))
    await until(async () => seen.some((line) => line.includes('ended with code 78')))

    await writeFile(path.join(folder.path, 'settings.yaml'), 'log_level: info')

    const { api } = await readyLine(child)
    expect(await embed(api, 'builtin-hash')).to.have.length(16 + 384 * 4)
  })

  it('refuses a start under a supervisor that may take no time', async () => {
    const child = inference('--supervise', '0')
    const said = text(child.stderr)

    expect(await once(child, 'close')).to.deep.equal([2, null])
    expect(await said).to.include('--supervise: "0" is not an integer from 10 to 86400')
  })

  it('leaves no worker behind when it is killed', async () => {
    const child = inference('--workers', '2')
    await readyLine(child)
    const group = await descendantsOf(child.pid!)

    child.kill('SIGKILL')

    expect(group.length).to.be.at.least(2)
    await until(async () => (await alive(group)).length === 0)
  })

  it('lists all wrong settings, and exits with 78', async () => {
    const child = inference('--workers', 'many', '--isolation', 'wish')

    const [, err] = await output(child)

    expect(child.exitCode).to.equal(78)
    expect(err).to.include('--workers: "many"').and.include('--isolation: "wish"')
  })

  it('refuses to listen beyond this machine without --insecure', async () => {
    const child = inference('--host', '0.0.0.0')

    const [code] = await once(child, 'close')

    expect(code).to.equal(78)
  })

  it('runs inside the swarm on request', async () => {
    await writeTinyEmbedder(path.join(folder.path, 'elsewhere/embedders/tiny'))
    const ports = ['--api-port', '0', '--health-port', '0', '--inference-port', '0']
    const data = ['--data-dir', path.join(folder.path, 'data')]
    const child = folder.quarry(['swarm', ...data, ...ports, '--models-dir', 'elsewhere'])

    const ready = await readyLine(child)
    const status = await fetch(`${ready.api}/api/v1/status`)
    const vector = await embed(ready.inference!, 'tiny')
    const readiness = await fetch(`${ready.inference_health}/readyz`)
    child.kill('SIGTERM')

    expect([status.status, readiness.status]).to.deep.equal([200, 200])
    expect(vector).to.have.length(HELLO_BYTES)
    expect((await once(child, 'close'))[0]).to.equal(0)
  })

  it('has its usual health port inside the swarm as well, and reports when that port is in use', async () => {
    const [free] = await freePorts(1)
    const ports = ['--api-port', '0', '--health-port', '0', '--inference-port', String(free)]
    let taken: Server | undefined
    // Another program may have it, and give it back at any time.
    await until(async () => (taken = await listenAt(USUAL_HEALTH_PORT)) !== undefined)
    const child = folder.quarry(['swarm', '--data-dir', path.join(folder.path, 'data'), ...ports])

    const [, err] = await output(child)
    taken?.close()

    expect(child.exitCode).to.equal(78)
    expect(err).to.include(`port ${USUAL_HEALTH_PORT} is in use`)
    expect(err).to.include('--inference-port and QUARRY_INFERENCE_HEALTH_PORT')
  })

  it('does not run inside a swarm without the request', async () => {
    const ports = ['--api-port', '0', '--health-port', '0']
    const child = folder.quarry(['swarm', '--data-dir', path.join(folder.path, 'data'), ...ports])

    expect(await readyLine(child)).to.not.have.property('inference')
  })
})

async function embed(api: string, model: string): Promise<Buffer> {
  const response = await fetch(`${api}/api/embed`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'hello worlds' }),
  })
  return Buffer.from(await response.arrayBuffer())
}

async function metric(health: string, name: string): Promise<number> {
  const lines = (await (await fetch(`${health}/metrics`)).text()).split('\n')
  const line = lines.find((each) => each.startsWith(`quarry_inference_${name} `))
  return Number(line?.split(' ')[1])
}

/** Processes below this one, the wrapper's child and its workers among them. */
async function descendantsOf(pid: number): Promise<number[]> {
  return (await treeOf(pid)).slice(1)
}

async function alive(pids: readonly number[]): Promise<number[]> {
  const checks = pids.map(async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    return stat === '' || /\) Z /.test(stat) ? [] : [pid]
  })
  return (await Promise.all(checks)).flat()
}
