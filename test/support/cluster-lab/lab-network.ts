// Machines of a test: network namespaces on one bridge, and packet filters between them.
//
//   this process ── bridge 10.x.y.1 ─┬─ namespace of "etcd-1" 10.x.y.11
//                                    └─ namespace of "node-1" 10.x.y.12 ...
//
// Namespaces and interfaces carry the id of the process that made them. The next network removes those of
// processes that are gone, because a killed test leaves them behind.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { messageOf } from '../../../lib/errors.ts'

const run = promisify(execFile)

const FIRST_HOST = 11
const NAMES = /^ql-(?<pid>\d+)-/
const BRIDGES = /^\d+: ql(?<pid>\d+)br:/gm
const SUBNETS_TRIED = 50

/** What a fault may do to the packets that one machine receives. */
interface Filter {
  /** Addresses whose packets are dropped. */
  readonly dropped: Set<string>
  /** The share of all packets that is lost. */
  lossRatio: number
}

/** A machine of its own as far as the network knows. */
export interface Machine {
  readonly name: string
  readonly address: string
  /** The command that runs a program on it. */
  readonly under: readonly [string, ...string[]]
}

export interface LinkCut {
  readonly from: Machine
  readonly to: Machine
}

/**
 * A bridge with machines. Needs root, `ip` and `iptables`.
 *
 * - This process reaches every machine, whatever is filtered.
 * - Filters drop packets in silence, as a broken switch does: connections stay open and hear nothing.
 */
export class LabNetwork implements AsyncDisposable {
  readonly #subnet: string
  readonly #filters = new Map<Machine, Filter>()
  readonly #tag = process.pid
  #hosts = 0

  private constructor(subnet: string) {
    this.#subnet = subnet
  }

  static async open(): Promise<LabNetwork> {
    await expectTools()
    await removeLeftovers()
    const network = new LabNetwork(await freeSubnet())
    await ip('link', 'add', network.#bridge, 'type', 'bridge')
    await ip('addr', 'add', `${network.#subnet}.1/24`, 'dev', network.#bridge)
    await ip('link', 'set', network.#bridge, 'up')
    return network
  }

  /** The address of this process on the bridge. */
  get gateway(): string {
    return `${this.#subnet}.1`
  }

  get #bridge(): string {
    return `ql${this.#tag}br`
  }

  async addMachine(name: string): Promise<Machine> {
    const at = this.#hosts++
    const namespace = `ql-${this.#tag}-${at}`
    const [near, far] = [`ql${this.#tag}v${at}`, `ql${this.#tag}e${at}`]
    const address = `${this.#subnet}.${FIRST_HOST + at}`
    await ip('netns', 'add', namespace)
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace)
    await ip('link', 'set', near, 'master', this.#bridge, 'up')
    await ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', far)
    await ip('-n', namespace, 'link', 'set', far, 'up')
    await ip('-n', namespace, 'link', 'set', 'lo', 'up')
    const machine: Machine = { name, address, under: ['ip', 'netns', 'exec', namespace] }
    this.#filters.set(machine, { dropped: new Set(), lossRatio: 0 })
    return machine
  }

  /** Packets of one machine do not reach the other any more. Nothing is said of the other direction. */
  async cut(links: readonly LinkCut[]): Promise<void> {
    for (const { from, to } of links) this.#filters.get(to)?.dropped.add(from.address)
    await this.#apply(new Set(links.map(({ to }) => to)))
  }

  /** No packet passes between the two groups. */
  split(some: readonly Machine[], others: readonly Machine[]): Promise<void> {
    const links = some.flatMap((from) => others.map((to) => ({ from, to })))
    return this.cut([...links, ...links.map(({ from, to }) => ({ from: to, to: from }))])
  }

  /** The machine loses a share of the packets that it receives, from this process too. */
  async lose(machine: Machine, ratio: number): Promise<void> {
    const filter = this.#filters.get(machine)
    if (filter !== undefined) filter.lossRatio = ratio
    await this.#apply(new Set([machine]))
  }

  async heal(): Promise<void> {
    const filtered = [...this.#filters].filter(
      ([, { dropped, lossRatio }]) => dropped.size > 0 || lossRatio > 0,
    )
    for (const [, filter] of filtered) {
      filter.dropped.clear()
      filter.lossRatio = 0
    }
    await this.#apply(new Set(filtered.map(([machine]) => machine)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeOf(this.#tag, this.#hosts)
  }

  async #apply(machines: ReadonlySet<Machine>): Promise<void> {
    await Promise.all(
      [...machines].map(async (machine) => {
        const filter = this.#filters.get(machine)
        if (filter !== undefined) await restoreRules(machine, rulesOf(filter))
      }),
    )
  }
}

function rulesOf({ dropped, lossRatio }: Filter): readonly string[] {
  const drops = [...dropped].map((address) => `-A INPUT -s ${address} -j DROP`)
  if (lossRatio === 0) return drops
  const chance = `-m statistic --mode random --probability ${lossRatio}`
  return [...drops, `-A INPUT ! -i lo ${chance} -j DROP`]
}

/** Replaces all rules at once, so no packet passes between an old state and a new one. */
async function restoreRules(machine: Machine, rules: readonly string[]): Promise<void> {
  const table = ['*filter', ':INPUT ACCEPT [0:0]', ...rules, 'COMMIT', ''].join('\n')
  const [program, ...rest] = machine.under
  const running = run(program, [...rest, 'iptables-restore', '--wait'])
  running.child.stdin?.end(table)
  await running
}

async function ip(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('ip', args)
  return stdout
}

/** Throws with the words that a user needs. */
async function expectTools(): Promise<void> {
  try {
    if (process.getuid?.() !== 0) throw new Error('this process is not root')
    await ip('link')
    await run('iptables', ['--version'])
  } catch (error) {
    throw new Error(
      `network namespaces need root and the packages iproute2 and iptables: ${messageOf(error)}`,
      { cause: error },
    )
  }
}

async function freeSubnet(): Promise<string> {
  const taken = await ip('-o', 'addr')
  for (let tried = 0; tried < SUBNETS_TRIED; tried++) {
    const subnet = `10.${200 + (tried % 50)}.${(process.pid + tried) % 256}`
    if (!taken.includes(` ${subnet}.`)) return subnet
  }
  throw new Error('no free network of the form 10.200-249.x.0/24')
}

async function removeLeftovers(): Promise<void> {
  const names = (await ip('netns', 'list')).split('\n')
  const bridges = [...(await ip('-o', 'link')).matchAll(BRIDGES)]
  const pids = [...names.map((name) => NAMES.exec(name)), ...bridges].map((found) =>
    Number(found?.groups?.['pid']),
  )
  for (const pid of new Set(pids)) {
    if (Number.isInteger(pid) && !existsSync(`/proc/${pid}`)) await removeOf(pid, undefined)
  }
}

async function removeOf(pid: number, hosts: number | undefined): Promise<void> {
  const listed = (await ip('netns', 'list')).split('\n').map((line) => line.split(' ')[0] ?? '')
  const names = listed.filter((name) => name.startsWith(`ql-${pid}-`))
  const known = Array.from({ length: hosts ?? names.length }, (_, at) => `ql-${pid}-${at}`)
  for (const name of new Set([...names, ...known])) {
    await ip('netns', 'del', name).catch(() => '')
  }
  await ip('link', 'del', `ql${pid}br`).catch(() => '')
}
