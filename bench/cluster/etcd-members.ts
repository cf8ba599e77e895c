// etcd, of one member for our nodes or of three as a peer.

import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { call } from '../documents/quarry-server.ts'
import type { Bench } from '../suite.ts'
import { ServiceProcess, freePorts } from './service-process.ts'

/** Running members. */
export interface EtcdMembers extends AsyncDisposable {
  readonly pids: readonly number[]
  /** The client URL of every member. */
  readonly urls: readonly string[]
  /** The member that leads, for the load generator: it need not pass puts on. */
  leader(): Promise<string>
}

/** Runs the etcd that is in PATH. */
export async function startEtcd(
  { directory, clock }: Bench,
  name: string,
  members: number,
): Promise<EtcdMembers> {
  const ports = await freePorts(members * 2)
  const clientPorts = ports.slice(0, members)
  const peerUrls = ports.slice(members).map((port) => `http://127.0.0.1:${port}`)
  const initial = peerUrls.map((url, index) => `${name}-${index}=${url}`).join(',')
  const urls = clientPorts.map((port) => `http://127.0.0.1:${port}`)
  await using stack = new AsyncDisposableStack()
  const processes = urls.map((url, index) => {
    const peerUrl = must(peerUrls[index], 'the URL of a peer')
    const args = [
      `--name=${name}-${index}`,
      `--data-dir=${path.join(directory, `${name}-${index}`)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=${initial}`,
      '--logger=zap',
      '--log-level=warn',
    ]
    return stack.use(new ServiceProcess({ command: 'etcd', args }))
  })
  for (const [index, process] of processes.entries()) {
    await process.ready(clock, () => call(`${must(urls[index], 'the URL')}/health`, 'GET'))
  }
  const owned = stack.move()
  return {
    pids: processes.map(({ pid }) => pid),
    urls,
    leader: () => leaderOf(urls),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function leaderOf(urls: readonly string[]): Promise<string> {
  for (const url of urls) {
    const status: { readonly leader: string; readonly header: { readonly member_id: string } } =
      JSON.parse(await call(`${url}/v3/maintenance/status`, 'POST', {}))
    if (status.leader === status.header.member_id) return url.replace('http:', 'etcd:')
  }
  throw new Error('no member of etcd leads')
}
