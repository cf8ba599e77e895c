// `quarry cluster start` with a real etcd and a small program in place of the nodes: see stub-node.ts.

import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { Command } from 'commander'
import { expect } from 'chai'
import { findEtcd } from '../../cli/cluster-start/etcd-binary.ts'
import { addClusterStartCommand } from '../../cli/commands/cluster-start.ts'
import type { CliContext } from '../../cli/process/context.ts'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/until.ts'

const STUB = path.resolve(import.meta.dirname, '../support/processes/stub-node.ts')
const PORTS = ['--api-port', '0', '--health-port', '0', '--peer-port', '0', '--etcd-port', '0']
const FREE = [...PORTS, '--no-inference']

interface Ready {
  readonly nodes: readonly {
    readonly name: string
    readonly api: string
    readonly pid: number
    readonly log: string
  }[]
  readonly etcd: string
}

class Collector extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** A run of the command that can be interrupted. */
class Run {
  readonly out = new Collector()
  readonly err = new Collector()
  readonly ended: Promise<unknown>
  readonly #stop = new AbortController()

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const screen = { isTty: false, color: false, columns: 100 }
    const context: CliContext = {
      terminal: {
        stdin: new PassThrough().end(),
        stdinIsTty: false,
        out: { stream: this.out, ...screen },
        err: { stream: this.err, ...screen },
      },
      settings: { url: '', noColor: true, parentPipe: undefined },
      env: { ...process.env, ...env },
      clock: systemClock,
      random: seededRandom(1),
      stopSignal: () => this.#stop.signal,
      onHangup: () => () => undefined,
    }
    const program = new Command().exitOverride()
    addClusterStartCommand(
      program,
      context,
      ({ dataDir, cluster, etcdUrl, secretFile, ports, env: own }) => {
        const place = ['--data-dir', dataDir, '--cluster-secret-file', secretFile]
        const found = ['--cluster', cluster, '--etcd', etcdUrl]
        const listens = [
          '--api-port',
          String(ports.apiPort),
          '--health-port',
          String(ports.healthPort),
        ]
        return {
          command: process.execPath,
          args: [STUB, ...place, ...found, ...listens],
          env: own,
        }
      },
    )
    this.ended = program.parseAsync(['start', '--json', ...args], { from: 'user' })
    this.ended.catch(() => undefined) // the test looks at it later
  }

  async ready(): Promise<Ready> {
    await Promise.race([until(async () => this.out.text.includes('\n')), this.ended])
    return JSON.parse(this.out.text)
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    this.#stop.abort(new DOMException('SIGINT', 'AbortError'))
    await this.ended
  }

  /** In their order, the processes whose end was reported. */
  get ends(): readonly string[] {
    return [...this.err.text.matchAll(/^(\S+) +│ (?:ended|was ended)/gm)].map(
      ([, name]) => name ?? '',
    )
  }
}

describe('quarry cluster start', () => {
  let folder: string
  let runs: Run[]

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-launcher-'))
    runs = []
  })

  afterEach(async () => {
    for (const run of runs) await run.interrupt().catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
    const run = new Run([...args, '--data-dir', path.join(folder, 'cluster')], env)
    runs.push(run)
    return run
  }

  it('starts etcd and the nodes, each in a folder of its own, with one secret', async () => {
    const run = start(FREE)

    const { nodes, etcd } = await run.ready()
    const answers = await Promise.all(nodes.map(async ({ api }) => (await fetch(api)).status))

    const files = await readdir(path.join(folder, 'cluster'))
    const secret = await stat(path.join(folder, 'cluster/cluster-secret'))
    expect(nodes.map(({ name }) => name)).to.deep.equal(['node-1', 'node-2', 'node-3'])
    expect(answers).to.deep.equal([200, 200, 200])
    expect(etcd).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(files).to.include.members(['cluster-secret', 'etcd'])
    expect((secret.mode & 0o777).toString(8)).to.equal('600')
    expect(run.err.text).to.match(
      /^node-2 │ server serves etcd=200 cluster=local secretMode=600 secretBytes=44$/m,
    )
  })

  it('shows processes and logs, and refuses a folder whose cluster runs', async () => {
    const run = start([...FREE, '--nodes', '1'])
    const { nodes } = await run.ready()
    const [node] = nodes
    expect(node?.pid).to.be.greaterThan(1)
    await until(async () => (await readFile(node?.log ?? '', 'utf8')).includes('server serves'))

    const second = start([...FREE, '--nodes', '1'])

    const refused = await errorOf(() => second.ended)
    expect(refused).to.have.property('message').that.includes(`end process ${process.pid}`)
    await run.interrupt()
    const again = start([...FREE, '--nodes', '1'])
    await again.ready()
    await again.interrupt()
  })

  it('starts an inference server that all nodes ask, unless another one is named', async () => {
    const run = start([...PORTS, '--nodes', '2', '--log-level', 'info'])
    await run.ready()
    await until(async () => /^inference +│ server serves api=http/m.test(run.err.text))
    const [, url] = /^inference +│ server serves api=(\S+)/m.exec(run.err.text) ?? []
    await run.interrupt()

    const elsewhere = start([...PORTS, '--nodes', '1'], { QUARRY_INFERENCE_URL: 'http://models:1' })
    await elsewhere.ready()
    await elsewhere.interrupt()

    expect(run.err.text.match(/inference=\S+/g)).to.deep.equal([
      `inference=${url}`,
      `inference=${url}`,
    ])
    expect(run.ends.slice(-2)).to.deep.equal(['inference', 'etcd'])
    expect(elsewhere.err.text).to.include('inference=http://models:1')
    expect(elsewhere.err.text).to.not.match(/^inference/m)
  })

  it('ends the nodes in order and then etcd, and starts again over the same folder', async () => {
    const first = start(FREE)
    await first.ready()
    await first.interrupt()
    const second = start([...FREE, '--nodes', '2'])
    const { nodes } = await second.ready()

    expect(first.ends).to.deep.equal(['node-1', 'node-2', 'node-3', 'etcd'])
    expect(first.err.text).to.match(/^node-1 │ server stopped$/m)
    expect(nodes).to.have.length(2)
  })

  it('reports a node that dies, and keeps the others', async () => {
    const run = start(FREE)
    const { nodes } = await run.ready()
    const [dying, other] = nodes
    await fetch(`${dying?.api}/crash`).catch(() => undefined)
    await until(async () => run.ends.length > 0)

    const { status } = await fetch(other?.api ?? '')

    expect(run.err.text).to.match(
      /^node-1 │ was ended by SIGKILL: the others serve what they hold/m,
    )
    expect(status).to.equal(200)
    await run.interrupt()
    expect(run.ends).to.deep.equal(['node-1', 'node-2', 'node-3', 'etcd'])
  })

  it('ends when its last node has died', async () => {
    const run = start([...FREE, '--nodes', '1'])
    const { nodes } = await run.ready()
    await fetch(`${nodes[0]?.api}/crash`).catch(() => undefined)

    const error = await errorOf(() => run.ended)

    expect(error).to.include({ exitCode: 70 })
    expect(run.ends).to.deep.equal(['node-1', 'etcd'])
  })

  it('ends all when a node does not start, and shows its last lines', async () => {
    const run = start(FREE, { STUB_FAILS: 'node-2' })

    const error = await errorOf(() => run.ended)

    expect(error).to.include({ exitCode: 78, code: 'START' })
    expect(String(error)).to.match(
      /node-2 ended with code 78; its last lines:\n {2}the disk is gone/,
    )
    expect(run.ends).to.include.members(['node-1', 'node-3', 'etcd'])
    expect(run.out.text).to.equal('')
  })

  it('ends all that runs when it is interrupted during the start', async () => {
    const run = start(FREE, { STUB_HANGS: 'node-3' })
    await until(async () => /^node-3 │ server starts/m.test(run.err.text))

    await run.interrupt()

    expect(run.ends).to.deep.equal(['node-1', 'node-2', 'node-3', 'etcd'])
    expect(run.out.text).to.equal('')
  })

  it('names a port that is in use, before anything is started', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const run = start([...FREE, '--api-port', String(port - 1)])

    const error = await errorOf(() => run.ended)

    server.close()
    expect(error).to.include({ exitCode: 78 })
    expect(String(error)).to.include(`port ${port} is in use`).and.to.include('--api-port')
    expect(run.err.text).to.equal('')
  })

  it('refuses a secret that others can read', async () => {
    const first = start([...FREE, '--nodes', '1'])
    await first.ready()
    await first.interrupt()
    await chmod(path.join(folder, 'cluster/cluster-secret'), 0o644)

    const error = await errorOf(() => start(FREE).ended)

    expect(String(error)).to.match(/cluster-secret can be read by other users: chmod 600/)
  })
})

describe('findEtcd', () => {
  for (const [platform, way] of [
    ['linux', 'apt-get install etcd-server'],
    ['darwin', 'brew install etcd'],
    ['freebsd', 'get one for your system'],
  ] as const) {
    it(`says how to get etcd on ${platform}`, async () => {
      const nowhere = { etcd: undefined, path: ['/nowhere'] }

      const error = await errorOf(() => findEtcd(nowhere, platform))

      expect(error).to.include({ exitCode: 78 })
      expect(String(error)).to.include('etcd is not in PATH').and.to.include(way)
    })
  }

  it('names a wrong QUARRY_ETCD', async () => {
    const error = await errorOf(() => findEtcd({ etcd: '/nowhere/etcd', path: ['/usr/bin'] }))

    expect(String(error)).to.include('QUARRY_ETCD: /nowhere/etcd')
  })
})
