// The command line, certificates and members of an own etcd, as the operator builds them, with real etcd processes.
// Three things differ from a Kubernetes cluster: every member listens on 127.0.0.1 at ports of its own, its directories
// are elsewhere, and the certificates of members name that address.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { V1StatefulSet } from '@kubernetes/client-node'
import { must } from '../../lib/assert.ts'
import { renewEtcdCertificates } from '../../operator/certificates/etcd-certificates.ts'
import { systemKeys } from '../../operator/certificates/system-keys.ts'
import { buildEtcdCertificatesSecret } from '../../operator/resources/access/generated-secrets.ts'
import { ETCD_PATHS } from '../../operator/resources/etcd/etcd-command.ts'
import { buildEtcdMembers, buildEtcdSet } from '../../operator/resources/etcd/etcd-set.ts'
import { etcdCertificateNames, KEYS, PORTS } from '../../operator/resources/parts/names.ts'
import { inputOf } from '../support/operator/cluster-inputs.ts'
import { until } from '../support/until.ts'
import { freePorts } from '../support/servers/free-ports.ts'

const BINARY = process.env['QUARRY_TEST_ETCD'] ?? 'etcd'
const CONTROL = process.env['QUARRY_TEST_ETCDCTL'] ?? 'etcdctl'
const READY = /ready to serve client requests|serving client traffic/
const run = promisify(execFile)

const input = inputOf({ nodes: { storage: { size: '1Gi' } } })
const etcd = must(input.decided.etcd, 'an own etcd')
const ORDINALS = [0, 1, 2]

interface Ports {
  readonly clients: number
  readonly peers: number
  readonly metrics: number
}

class Members {
  readonly #directory: string
  readonly #ports: readonly Ports[]
  readonly #processes = new Map<number, ChildProcess>()
  readonly #logs = new Map<number, string>()

  constructor(directory: string, ports: readonly Ports[]) {
    this.#directory = directory
    this.#ports = ports
  }

  file(name: string): string {
    return path.join(this.#directory, 'certificates', name)
  }

  portsOf(ordinal: number): Ports {
    return must(this.#ports[ordinal], 'ports')
  }

  log(ordinal: number): string {
    return this.#logs.get(ordinal) ?? ''
  }

  dataOf(ordinal: number): string {
    return path.join(this.#directory, `data-${ordinal}`)
  }

  /** The addresses of Kubernetes' names, on this machine. */
  local(text: string, ordinal: number): string {
    const own = this.portsOf(ordinal)
    return ORDINALS.reduce(
      (result, member) =>
        result
          .replaceAll(
            new RegExp(`books-etcd-${member}\\.books-etcd\\.shop\\.svc:${PORTS.etcdClients}`, 'g'),
            `127.0.0.1:${this.portsOf(member).clients}`,
          )
          .replaceAll(
            new RegExp(`books-etcd-${member}\\.books-etcd\\.shop\\.svc:${PORTS.etcdPeers}`, 'g'),
            `127.0.0.1:${this.portsOf(member).peers}`,
          ),
      text
        .replaceAll('$(POD_NAME)', `books-etcd-${ordinal}`)
        .replaceAll(ETCD_PATHS.data, this.dataOf(ordinal))
        .replaceAll(ETCD_PATHS.certificates, path.join(this.#directory, 'certificates'))
        .replaceAll(`0.0.0.0:${PORTS.etcdClients}`, `127.0.0.1:${own.clients}`)
        .replaceAll(`0.0.0.0:${PORTS.etcdPeers}`, `127.0.0.1:${own.peers}`)
        .replaceAll(`0.0.0.0:${PORTS.etcdMetrics}`, `127.0.0.1:${own.metrics}`),
    )
  }

  /** Resolves with true once the member serves, and with false when it ends before. */
  async start(ordinal: number, state: 'new' | 'existing'): Promise<boolean> {
    const set: V1StatefulSet = JSON.parse(JSON.stringify(buildEtcdSet(input, etcd)))
    const [container] = must(set.spec?.template.spec, 'a pod').containers
    const args = (container?.args ?? []).map((arg) => this.local(arg, ordinal))
    const data: Readonly<Record<string, string>> = buildEtcdMembers(input, { ...etcd, state }).data
    const variables = (container?.env ?? []).flatMap(({ name, valueFrom }) => {
      const key = valueFrom?.configMapKeyRef?.key
      return key === undefined ? [] : [[name, this.local(must(data[key], key), ordinal)] as const]
    })
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', BINARY, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        ...Object.fromEntries(variables),
        ETCD_UNSUPPORTED_ARCH: process.arch,
      },
    })
    this.#processes.set(ordinal, child)
    this.#logs.set(ordinal, '')
    return new Promise((resolve) => {
      createInterface({ input: must(child.stderr, 'a pipe') }).on('line', (line) => {
        this.#logs.set(ordinal, `${this.log(ordinal)}${line}\n`)
        if (READY.test(line)) resolve(true)
      })
      child.once('exit', () => resolve(false))
    })
  }

  async kill(ordinal: number): Promise<void> {
    const child = this.#processes.get(ordinal)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async control(...args: readonly string[]): Promise<string> {
    const certificate = [`--cacert=${this.file('ca.crt')}`, `--cert=${this.file('client.crt')}`]
    const endpoint = `--endpoints=https://127.0.0.1:${this.portsOf(0).clients}`
    const all = [endpoint, ...certificate, `--key=${this.file('client.key')}`, ...args]
    const { stdout } = await run(CONTROL, all, { env: { ...process.env, ETCDCTL_API: '3' } })
    return stdout.trim()
  }

  /** Whether the port of peers answers who shows this certificate. */
  async reachesPeer(pair: string): Promise<boolean> {
    const files = ['--cacert', 'ca.crt', '--cert', `${pair}.crt`, '--key', `${pair}.key`]
    const url = `https://127.0.0.1:${this.portsOf(0).peers}/version`
    const cwd = path.join(this.#directory, 'certificates')
    return run('curl', ['--silent', '--fail', '--http1.1', ...files, url], { cwd }).then(
      () => true,
      () => false,
    )
  }

  async probe(ordinal: number, name: 'livenessProbe' | 'readinessProbe'): Promise<number> {
    const set: V1StatefulSet = JSON.parse(JSON.stringify(buildEtcdSet(input, etcd)))
    const [container] = must(set.spec?.template.spec, 'a pod').containers
    const where = must(container?.[name]?.httpGet?.path, 'a path')
    const { status } = await fetch(`http://127.0.0.1:${this.portsOf(ordinal).metrics}${where}`)
    return status
  }

  async close(): Promise<void> {
    await Promise.all(ORDINALS.map((ordinal) => this.kill(ordinal)))
    await rm(this.#directory, { recursive: true, force: true })
  }
}

async function openMembers(): Promise<Members> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-operator-etcd-'))
  const ports = await freePorts(ORDINALS.length * 3)
  const members = new Members(
    directory,
    ORDINALS.map((ordinal) => ({
      clients: must(ports[ordinal * 3], 'a port'),
      peers: must(ports[ordinal * 3 + 1], 'a port'),
      metrics: must(ports[ordinal * 3 + 2], 'a port'),
    })),
  )
  await mkdir(path.join(directory, 'certificates'))
  const names = etcdCertificateNames(input.cluster)
  const here = { ...names, peer: [...names.peer, '127.0.0.1'] }
  const times = { nowMs: Date.now(), keys: systemKeys }
  const { certificates } = renewEtcdCertificates(undefined, { names: here, ...times })
  const { data } = buildEtcdCertificatesSecret(input, certificates)
  for (const [name, content] of Object.entries(data)) {
    await writeFile(members.file(name), Buffer.from(content, 'base64'))
  }
  return members
}

describe('an etcd of the operator, with real members', () => {
  let members: Members

  before(async () => {
    members = await openMembers()
    const started = await Promise.all(ORDINALS.map((ordinal) => members.start(ordinal, 'new')))
    expect(started, ORDINALS.map((ordinal) => members.log(ordinal)).join('\n')).to.deep.equal([
      true,
      true,
      true,
    ])
  })
  after(() => members.close())

  it('serves a client that shows its certificate', async () => {
    await members.control('put', 'key', 'value')

    expect(await members.control('get', 'key', '--print-value-only')).to.equal('value')
  })

  it('serves nobody without a certificate', async () => {
    const args = [
      `--endpoints=https://127.0.0.1:${members.portsOf(0).clients}`,
      `--cacert=${members.file('ca.crt')}`,
      '--command-timeout=2s',
      '--dial-timeout=2s',
    ]
    const env = { ...process.env, ETCDCTL_API: '3' }
    const refused = await run(CONTROL, [...args, 'get', 'key'], { env }).then(
      () => false,
      () => true,
    )

    expect(refused).to.equal(true)
  })

  it('takes a client for no member, although one authority signs both', async () => {
    expect(await members.reachesPeer('peer')).to.equal(true)
    expect(await members.reachesPeer('client')).to.equal(false)
  })

  it('answers its probes', async () => {
    expect(await members.probe(0, 'livenessProbe')).to.equal(200)
    expect(await members.probe(0, 'readinessProbe')).to.equal(200)
  })

  it('refuses a member that lost its volume and starts as if it were new', async () => {
    await members.kill(2)
    await rm(members.dataOf(2), { recursive: true })

    expect(await members.start(2, 'new')).to.equal(false)
    expect(members.log(2)).to.match(/already been bootstrapped/)
  })

  it('takes a member that lost its volume back, once it was removed and added', async () => {
    const listed = await members.control('member', 'list')
    const [id = ''] = /^(\w+), \w+, books-etcd-2/m.exec(listed)?.slice(1) ?? []
    // A request that timed out may have taken effect.
    await until(async () => {
      await members.control('member', 'remove', id).catch(() => undefined)
      const left = await members.control('member', 'list').catch(() => id)
      return !left.includes(id)
    })
    const peer = `--peer-urls=https://127.0.0.1:${members.portsOf(2).peers}`
    // Etcd changes no membership before its members have been connected for five seconds.
    await until(() =>
      members.control('member', 'add', 'books-etcd-2', peer).then(
        () => true,
        () => false,
      ),
    )
    await rm(members.dataOf(2), { recursive: true, force: true })

    expect(await members.start(2, 'existing'), members.log(2)).to.equal(true)
    expect(await members.control('get', 'key', '--print-value-only')).to.equal('value')
    expect(
      buildEtcdMembers(input, { ...etcd, state: 'existing' }).data[KEYS.initialClusterState],
    ).to.equal('existing')
  })

  it('is alive and not ready without a quorum', async () => {
    await members.kill(1)
    await members.kill(2)

    expect(await members.probe(0, 'livenessProbe')).to.equal(200)
    expect(await members.probe(0, 'readinessProbe')).not.to.equal(200)
  })
})
