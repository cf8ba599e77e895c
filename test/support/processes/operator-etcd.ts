// The members of an own etcd as the operator builds them, as real processes. Three things differ from a Kubernetes cluster:
// every member listens on 127.0.0.1 at ports of its own, its directories are elsewhere, and the certificates of members name
// that address.
//
// QUARRY_TEST_ETCD and QUARRY_TEST_ETCDCTL name other binaries than Debian's.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { V1Container, V1StatefulSet } from '@kubernetes/client-node'
import { must } from '../../../lib/assert.ts'
import type { EtcdTls } from '../../../lib/etcd/etcd-endpoints.ts'
import { renewEtcdCertificates } from '../../../operator/certificates/etcd-certificates.ts'
import { systemKeys } from '../../../operator/certificates/system-keys.ts'
import type { EtcdMemberPlace } from '../../../operator/etcd/asked-members.ts'
import { buildEtcdCertificatesSecret } from '../../../operator/resources/access/generated-secrets.ts'
import { ETCD_PATHS } from '../../../operator/resources/etcd/etcd-command.ts'
import { buildEtcdMembers, buildEtcdSet } from '../../../operator/resources/etcd/etcd-set.ts'
import type { ClusterInput, EtcdDecision } from '../../../operator/resources/parts/cluster-input.ts'
import {
  etcdCertificateNames,
  etcdHost,
  etcdPods,
  PORTS,
} from '../../../operator/resources/parts/names.ts'
import { freePorts } from '../servers/free-ports.ts'

const BINARY = process.env['QUARRY_TEST_ETCD'] ?? 'etcd'
const CONTROL = process.env['QUARRY_TEST_ETCDCTL'] ?? 'etcdctl'
const READY = /ready to serve client requests|serving client traffic/
const run = promisify(execFile)

interface Ports {
  readonly clients: number
  readonly peers: number
  readonly metrics: number
}

export interface OperatorEtcdOptions {
  readonly input: ClusterInput
  /** Instead of what the operator gives: etcd takes the last of equal flags. */
  readonly quotaBytes?: number
}

export class OperatorEtcd implements AsyncDisposable {
  readonly input: ClusterInput
  readonly etcd: EtcdDecision
  readonly ordinals: readonly number[]
  readonly #directory: string
  readonly #ports: readonly Ports[]
  readonly #flags: readonly string[]
  readonly #processes = new Map<number, ChildProcess>()
  readonly #logs = new Map<number, string>()

  private constructor(options: OperatorEtcdOptions, directory: string, ports: readonly number[]) {
    const { input, quotaBytes } = options
    this.input = input
    this.etcd = must(input.decided.etcd, 'an own etcd')
    this.ordinals = this.etcd.members
    this.#directory = directory
    this.#ports = this.ordinals.map((ordinal) => ({
      clients: must(ports[ordinal * 3], 'a port'),
      peers: must(ports[ordinal * 3 + 1], 'a port'),
      metrics: must(ports[ordinal * 3 + 2], 'a port'),
    }))
    this.#flags = quotaBytes === undefined ? [] : [`--quota-backend-bytes=${quotaBytes}`]
  }

  /** No member runs yet. */
  static async open(options: OperatorEtcdOptions): Promise<OperatorEtcd> {
    const { input } = options
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-operator-etcd-'))
    const count = must(input.decided.etcd, 'an own etcd').members.length
    const etcd = new OperatorEtcd(options, directory, await freePorts(count * 3))
    await mkdir(path.join(directory, 'certificates'))
    const names = etcdCertificateNames(input.cluster)
    const here = { ...names, peer: [...names.peer, '127.0.0.1'] }
    const times = { nowMs: Date.now(), keys: systemKeys }
    const { certificates } = renewEtcdCertificates(undefined, { names: here, ...times })
    const { data } = buildEtcdCertificatesSecret(input, certificates)
    for (const [name, content] of Object.entries(data)) {
      await writeFile(etcd.file(name), Buffer.from(content, 'base64'))
    }
    return etcd
  }

  file(name: string): string {
    return path.join(this.#directory, 'certificates', name)
  }

  /** What a client shows and trusts. */
  async tls(): Promise<EtcdTls> {
    const [ca, cert, key] = await Promise.all(
      ['ca.crt', 'client.crt', 'client.key'].map((name) => readFile(this.file(name))),
    )
    return { ca: must(ca, 'ca'), cert: must(cert, 'cert'), key: must(key, 'key') }
  }

  places(): readonly EtcdMemberPlace[] {
    return etcdPods(this.input.cluster.name, this.ordinals.length).map((podName, ordinal) => ({
      podName,
      clientURL: `https://127.0.0.1:${this.portsOf(ordinal).clients}`,
      peerURL: `https://127.0.0.1:${this.portsOf(ordinal).peers}`,
    }))
  }

  portsOf(ordinal: number): Ports {
    return must(this.#ports[ordinal], 'ports')
  }

  log(ordinal: number): string {
    return this.#logs.get(ordinal) ?? ''
  }

  /** What all have logged. */
  logs(): string {
    return this.ordinals.map((ordinal) => this.log(ordinal)).join('\n')
  }

  dataOf(ordinal: number): string {
    return path.join(this.#directory, `data-${ordinal}`)
  }

  async loseVolume(ordinal: number): Promise<void> {
    await rm(this.dataOf(ordinal), { recursive: true, force: true })
  }

  /** Resolves with true once the member serves, and with false when it ends before. */
  async start(ordinal: number, state: 'new' | 'existing'): Promise<boolean> {
    const { args = [], env = [] } = this.#container()
    const data: Readonly<Record<string, string>> = buildEtcdMembers(this.input, {
      ...this.etcd,
      state,
    }).data
    const variables = env.flatMap(({ name, valueFrom }) => {
      const key = valueFrom?.configMapKeyRef?.key
      return key === undefined ? [] : [[name, this.#local(must(data[key], key), ordinal)] as const]
    })
    const local = [...args, ...this.#flags].map((arg) => this.#local(arg, ordinal))
    // The kernel ends the member with the test, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', BINARY, ...local], {
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

  /** All members of a new cluster. Fails with what they logged. */
  async startAll(): Promise<void> {
    const started = await Promise.all(this.ordinals.map((ordinal) => this.start(ordinal, 'new')))
    if (!started.every(Boolean)) throw new Error(this.logs())
  }

  async kill(ordinal: number): Promise<void> {
    const child = this.#processes.get(ordinal)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** etcdctl at the first member. */
  async control(...args: readonly string[]): Promise<string> {
    const certificate = [`--cacert=${this.file('ca.crt')}`, `--cert=${this.file('client.crt')}`]
    const endpoint = `--endpoints=https://127.0.0.1:${this.portsOf(0).clients}`
    const all = [endpoint, ...certificate, `--key=${this.file('client.key')}`, ...args]
    const { stdout } = await run(CONTROL, all, { env: { ...process.env, ETCDCTL_API: '3' } })
    return stdout.trim()
  }

  /** Whether a client is served that shows no certificate. */
  async servesAnybody(): Promise<boolean> {
    const args = [
      `--endpoints=https://127.0.0.1:${this.portsOf(0).clients}`,
      `--cacert=${this.file('ca.crt')}`,
      '--command-timeout=2s',
      '--dial-timeout=2s',
    ]
    const env = { ...process.env, ETCDCTL_API: '3' }
    return run(CONTROL, [...args, 'get', 'key'], { env }).then(
      () => true,
      () => false,
    )
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
    const where = must(this.#container()[name]?.httpGet?.path, 'a path')
    const { status } = await fetch(`http://127.0.0.1:${this.portsOf(ordinal).metrics}${where}`)
    return status
  }

  #container(): V1Container {
    const set: V1StatefulSet = JSON.parse(JSON.stringify(buildEtcdSet(this.input, this.etcd)))
    return must(set.spec?.template.spec?.containers[0], 'a container')
  }

  /** The addresses of Kubernetes' names, on this machine. */
  #local(text: string, ordinal: number): string {
    const own = this.portsOf(ordinal)
    const { cluster } = this.input
    const pods = etcdPods(cluster.name, this.ordinals.length)
    return pods.reduce(
      (result, pod, member) => {
        const { clients, peers } = this.portsOf(member)
        const host = etcdHost(cluster, pod)
        return result
          .replaceAll(`${host}:${PORTS.etcdClients}`, `127.0.0.1:${clients}`)
          .replaceAll(`${host}:${PORTS.etcdPeers}`, `127.0.0.1:${peers}`)
      },
      text
        .replaceAll('$(POD_NAME)', must(pods[ordinal], 'a pod'))
        .replaceAll(ETCD_PATHS.data, this.dataOf(ordinal))
        .replaceAll(ETCD_PATHS.certificates, path.join(this.#directory, 'certificates'))
        .replaceAll(`0.0.0.0:${PORTS.etcdClients}`, `127.0.0.1:${own.clients}`)
        .replaceAll(`0.0.0.0:${PORTS.etcdPeers}`, `127.0.0.1:${own.peers}`)
        .replaceAll(`0.0.0.0:${PORTS.etcdMetrics}`, `127.0.0.1:${own.metrics}`),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.ordinals.map((ordinal) => this.kill(ordinal)))
    await rm(this.#directory, { recursive: true, force: true })
  }
}
