// Members of etcd, each on a machine of its own.

import { cp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { LabProcess } from './lab-process.ts'
import type { LabNetwork, Machine } from './lab-network.ts'

const BINARY = process.env['QUARRY_TEST_ETCD'] ?? 'etcd'
const READY = /ready to serve client requests|serving client traffic/
const CLIENT_PORT = 2379
const PEER_PORT = 2380
/** Calm enough for many processes on two cores. */
const TIMES = ['--heartbeat-interval=200', '--election-timeout=2000']

export class LabEtcd {
  readonly name: string
  readonly machine: Machine
  readonly process: LabProcess
  readonly #dataDir: string

  private constructor(machine: Machine, process: LabProcess, dataDir: string) {
    this.name = machine.name
    this.machine = machine
    this.process = process
    this.#dataDir = dataDir
  }

  /** They run when this resolves. */
  static async startAll(
    network: LabNetwork,
    { members, directory }: { readonly members: number; readonly directory: string },
  ): Promise<readonly LabEtcd[]> {
    const machines: Machine[] = []
    for (let at = 1; at <= members; at++) machines.push(await network.addMachine(`etcd-${at}`))
    const all = machines.map((machine) => {
      const dataDir = path.join(directory, machine.name)
      const args = argsOf(machine, machines, dataDir)
      const command = [...machine.under, BINARY, ...args]
      const env = { ETCD_UNSUPPORTED_ARCH: process.arch }
      return new LabEtcd(machine, new LabProcess({ command, ready: READY, env }), dataDir)
    })
    await Promise.all(all.map(({ process: member }) => member.start()))
    return all
  }

  get endpoint(): string {
    return `http://${this.machine.address}:${CLIENT_PORT}`
  }

  /** Keeps a copy of its directory. */
  async copyData(): Promise<void> {
    await rm(this.#copy, { recursive: true, force: true })
    await cp(this.#dataDir, this.#copy, { recursive: true })
  }

  /** The copy takes the place of its directory, while it does not run. */
  async restoreData(): Promise<void> {
    await rm(this.#dataDir, { recursive: true, force: true })
    await rename(this.#copy, this.#dataDir)
  }

  get #copy(): string {
    return `${this.#dataDir}.copy`
  }

  /** Whether it leads the others, as itself says. */
  async leads(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(1000)
      const answer = await fetch(`${this.endpoint}/v3/maintenance/status`, {
        method: 'POST',
        body: '{}',
        signal,
      })
      const { header, leader } = JSON.parse(await answer.text())
      return header.member_id === leader
    } catch {
      return false
    }
  }
}

function argsOf(own: Machine, all: readonly Machine[], dataDir: string): readonly string[] {
  const client = `http://${own.address}:${CLIENT_PORT}`
  const peer = `http://${own.address}:${PEER_PORT}`
  const cluster = all.map(({ name, address }) => `${name}=http://${address}:${PEER_PORT}`)
  return [
    `--name=${own.name}`,
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${cluster.join(',')}`,
    '--logger=zap',
    ...TIMES,
  ]
}
