// The two servers of the suite, each in a process of its own, and how to reach them.

import { once } from 'node:events'
import net from 'node:net'
import { assert } from '../../lib/assert.ts'
import type { PeerNode } from '../../node/peer/peer.ts'
import { ReadyProcess } from '../child-process.ts'
import { readCpuSeconds } from '../process-memory.ts'
import { openBenchNode } from './bench-node.ts'

export type ServerKind = 'quarry' | 'bare'

/** A server in a process of its own. */
export interface EchoServer {
  readonly port: number
  readonly process: ReadyProcess
}

export async function startServer(kind: ServerKind): Promise<EchoServer> {
  const script = new URL('echo-server.ts', import.meta.url).pathname
  const [process, { port }] = await ReadyProcess.start({ name: kind, args: [script, kind] })
  assert(typeof port === 'number', 'the server names its port')
  return { port, process }
}

/** The dialling node, in this process. */
export function openClient(): Promise<PeerNode> {
  return openBenchNode('client', new Map())
}

export async function connectBare(port: number): Promise<net.Socket> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** What some work cost: its time, and the processor time of this process and the server's. */
export interface Cost {
  readonly seconds: number
  readonly cpuSeconds: number
}

export async function costOf(server: ReadyProcess, work: () => Promise<void>): Promise<Cost> {
  const before = { server: await readCpuSeconds(server.pid), own: process.cpuUsage() }
  const startMs = performance.now()
  await work()
  const seconds = (performance.now() - startMs) / 1000
  const own = process.cpuUsage(before.own)
  const served = (await readCpuSeconds(server.pid)) - before.server
  return { seconds, cpuSeconds: served + (own.user + own.system) / 1e6 }
}
