// Real etcd processes on 127.0.0.1, each behind a proxy that a test can break.
//
// The binaries are Debian's (packages etcd-server and etcd-client); QUARRY_TEST_ETCD and QUARRY_TEST_ETCDCTL name
// other ones. From version 3.6 on, snapshots are restored by etcdutl.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { credentials } from '@grpc/grpc-js'
import { must } from '../../../lib/assert.ts'
import { EtcdMember } from '../../../lib/etcd/etcd-member.ts'
import { ProtoWriter } from '../../../lib/etcd/proto-writer.ts'
import type { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import { FaultProxy } from '../servers/fault-proxy.ts'
import { freePorts } from '../servers/free-ports.ts'

const BINARY = process.env['QUARRY_TEST_ETCD'] ?? 'etcd'
const CONTROL = process.env['QUARRY_TEST_ETCDCTL'] ?? 'etcdctl'
/** What `etcdctl snapshot restore` has to know of a member: it writes the membership anew. */
const MEMBERSHIP = /^--(?:name|initial-cluster|initial-advertise-peer-urls|data-dir)=/
const run = promisify(execFile)
const READY = /ready to serve client requests|serving client traffic/
const LOG_LINES_MAX = 100
const CALL_MS_MAX = 60_000

export interface EtcdClusterOptions {
  readonly members: 1 | 3
  /** Further flags of each member. */
  readonly flags?: readonly string[]
  readonly scheme?: 'http' | 'https'
}

interface MemberParts {
  readonly proxy: FaultProxy
  readonly args: readonly string[]
  readonly dataDir: string
}

/** One member's process, which can be stopped and started again. */
export class EtcdProcess {
  readonly name: string
  readonly clientPort: number
  readonly proxy: FaultProxy
  readonly #args: readonly string[]
  readonly #dataDir: string
  #child: ChildProcess | undefined
  #log: string[] = []

  constructor({ name, clientPort }: Ports, { proxy, args, dataDir }: MemberParts) {
    this.#dataDir = dataDir
    this.name = name
    this.clientPort = clientPort
    this.proxy = proxy
    this.#args = args
  }

  /** Resolves once the member serves clients, which takes a majority of the members. */
  async start(): Promise<void> {
    // The kernel ends the member with the test, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', BINARY, ...this.#args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      // etcd 3.4 serves other machines than x64 only when it is told to.
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
    })
    this.#child = child
    this.#log = []
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: must(child.stderr, 'a pipe') }).on('line', (line) => {
        this.#log.push(line)
        if (this.#log.length > LOG_LINES_MAX) this.#log.shift()
        if (READY.test(line)) resolve()
      })
      const fail = (why: string): void => {
        reject(new Error(`${BINARY} ${why}: apt-get install etcd-server\n${this.#log.join('\n')}`))
      }
      child.once('error', ({ message }) => fail(message))
      child.once('exit', (code) => fail(`ended with ${code} before it was ready`))
    })
  }

  /** SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Starts a member that remembers nothing, in the place of this one. */
  async replace(): Promise<void> {
    await this.kill()
    await rm(this.#dataDir, { recursive: true, force: true })
    await this.start()
  }

  /** `etcdctl snapshot save`, while it runs. */
  async saveSnapshot(to: string): Promise<void> {
    await control(`--endpoints=127.0.0.1:${this.clientPort}`, 'snapshot', 'save', to)
  }

  /**
   * Starts over what `etcdctl snapshot restore` makes of a snapshot in a new directory. Another token than that of the
   * first start gives the cluster and its members other ids.
   */
  async restoreSnapshot(from: string, token = 'etcd-cluster'): Promise<void> {
    await this.kill()
    await rm(this.#dataDir, { recursive: true, force: true })
    const membership = this.#args.filter((arg) => MEMBERSHIP.test(arg))
    const tokenFlag = `--initial-cluster-token=${token}`
    await control('snapshot', 'restore', from, ...membership, tokenFlag)
    await this.start()
  }

  /** SIGSTOP: the kernel still takes connections and bytes for it. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }
}

/** A cluster that a test owns. */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdProcess[]
  readonly #scheme: string
  readonly #directory: string

  private constructor(
    members: readonly EtcdProcess[],
    { scheme, directory }: { readonly scheme: string; readonly directory: string },
  ) {
    this.members = members
    this.#scheme = scheme
    this.#directory = directory
  }

  static async start(options: EtcdClusterOptions): Promise<EtcdCluster> {
    const { scheme = 'http', flags = [] } = options
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-etcd-'))
    const ports = await portsOf(options.members)
    const members: EtcdProcess[] = []
    for (const each of ports) {
      const dataDir = path.join(directory, each.name)
      const args = [...argsOf(each, ports, scheme), `--data-dir=${dataDir}`, ...flags]
      const proxy = await FaultProxy.open(each.clientPort)
      members.push(new EtcdProcess(each, { proxy, args, dataDir }))
    }
    const cluster = new EtcdCluster(members, { scheme, directory })
    try {
      await Promise.all(members.map((member) => member.start()))
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
    return cluster
  }

  /** By way of the proxies, in the order of the members. */
  get endpoints(): readonly string[] {
    return this.members.map(({ proxy }) => `${this.#scheme}://127.0.0.1:${proxy.port}`)
  }

  /** Past the proxies. */
  get directEndpoints(): readonly string[] {
    return this.members.map(({ clientPort }) => `${this.#scheme}://127.0.0.1:${clientPort}`)
  }

  /** The member that leads, as the first one that answers sees it. */
  async leader(): Promise<EtcdProcess> {
    const answers = this.members.map(async (member) => {
      const answer = await callOf(member, '/etcdserverpb.Maintenance/Status', new ProtoWriter())
      return { member, id: answer.message(1).bigint(2), leader: answer.bigint(4) }
    })
    const known = await Promise.all(answers)
    return must(
      known.find(({ id, leader }) => id === leader),
      'a leader',
    ).member
  }

  /** Forgets all revisions below this one. */
  async compact(revision: number): Promise<void> {
    const body = new ProtoWriter().integer(1, revision).integer(2, 1)
    await this.call('/etcdserverpb.KV/Compact', body)
  }

  /** What the first member says of the cluster and of itself. */
  async ids(): Promise<{
    readonly cluster: bigint
    readonly member: bigint
    readonly revision: number
  }> {
    const answer = await this.call('/etcdserverpb.Maintenance/Status', new ProtoWriter())
    const header = answer.message(1)
    return { cluster: header.bigint(1), member: header.bigint(2), revision: header.number(3) }
  }

  /** Brings the revision to this or beyond, as etcd's tools of version 3.6 do at a restore if they are told to. */
  async writeUntil(revision: number): Promise<void> {
    while ((await this.ids()).revision < revision) {
      const put = new ProtoWriter().text(1, 'of another program').text(2, 'value')
      await Promise.all(Array.from({ length: 50 }, () => this.call('/etcdserverpb.KV/Put', put)))
    }
  }

  /** Any call of etcd's, by the first member. */
  call(rpc: string, body: ProtoWriter): Promise<ProtoMessage> {
    return callOf(must(this.members[0], 'a member'), rpc, body)
  }

  /** Ends what a test did to members that still run. */
  heal(): void {
    for (const member of this.members) {
      member.resume()
      member.proxy.heal()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    for (const { proxy } of this.members) await proxy[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

interface Ports {
  readonly name: string
  readonly clientPort: number
  readonly peerPort: number
}

function argsOf(own: Ports, all: readonly Ports[], scheme: string): string[] {
  const client = `${scheme}://127.0.0.1:${own.clientPort}`
  const peer = `http://127.0.0.1:${own.peerPort}`
  const cluster = all.map(({ name, peerPort }) => `${name}=http://127.0.0.1:${peerPort}`)
  return [
    `--name=${own.name}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${cluster.join(',')}`,
    '--logger=zap',
  ]
}

async function portsOf(members: number): Promise<readonly Ports[]> {
  const ports = await freePorts(members * 2)
  return Array.from({ length: members }, (_, index) => ({
    name: `member-${index}`,
    clientPort: must(ports[index * 2], 'a port'),
    peerPort: must(ports[index * 2 + 1], 'a port'),
  }))
}

async function control(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, ETCDCTL_API: '3' }
  await run(CONTROL, args, { env }).catch((error: unknown) => {
    throw new Error(`${CONTROL} ${args.join(' ')}: apt-get install etcd-client`, { cause: error })
  })
}

async function callOf(
  { clientPort }: EtcdProcess,
  rpc: string,
  body: ProtoWriter,
): Promise<ProtoMessage> {
  const member = new EtcdMember(`127.0.0.1:${clientPort}`, credentials.createInsecure())
  const signal = AbortSignal.timeout(CALL_MS_MAX)
  try {
    return await member.call({ path: rpc, body: body.finish() }, { token: undefined }, signal)
  } finally {
    member.reset()
  }
}
