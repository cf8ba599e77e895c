// One upload in parts of 256 KiB, as a snapshot is sent, against the same bytes on a bare socket.

import { once } from 'node:events'
import type net from 'node:net'
import { assert } from '../../lib/assert.ts'
import type { PeerLink } from '../../node/peer/peer.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { COUNT } from './bench-node.ts'
import { connectBare, costOf, openClient, startServer } from './echo-servers.ts'
import type { Cost } from './echo-servers.ts'

const PART = Buffer.alloc(256 * 1024, 7)
const PARTS = 1024
const PARTS_QUICK = 256

export async function bulkUploads(bench: Bench): Promise<RowResult> {
  const [ours, bare] = [await startServer('quarry'), await startServer('bare')]
  await using stack = new AsyncDisposableStack()
  stack.use(ours.process)
  stack.use(bare.process)
  const client = stack.use(await openClient())
  const link = client.link({ nodeId: 'server', host: '127.0.0.1', port: ours.port })

  const parts = bench.quick ? PARTS_QUICK : PARTS
  const megabytes = (parts * PART.length) / 1e6
  await uploadOurs(link, parts)
  const [oursCosts, bareCosts]: [Cost[], Cost[]] = [[], []]
  for (let run = 0; run < bench.runs; run++) {
    bench.progress(`bulk: run ${run + 1} of ${bench.runs}`)
    oursCosts.push(await costOf(ours.process, () => uploadOurs(link, parts)))
    const socket = await connectBare(bare.port)
    bareCosts.push(await costOf(bare.process, () => uploadBare(socket, parts)))
    socket.destroy()
  }
  const common = { kind: 'ratio', peerName: 'bare node:net socket' } as const
  const rate = ({ seconds }: Cost): number => megabytes / seconds
  const cpu = ({ cpuSeconds }: Cost): number => (cpuSeconds / megabytes) * 1e6
  const label = 'upload in parts of 256 KiB'
  return {
    findings: [
      { ...common, label, unit: 'MB/s', ours: oursCosts.map(rate), peer: bareCosts.map(rate) },
      {
        ...common,
        label: `${label}: processor time of both sides for each MB`,
        unit: 'µs',
        ours: oursCosts.map(cpu),
        peer: bareCosts.map(cpu),
      },
    ],
  }
}

async function uploadOurs(link: PeerLink, count: number): Promise<void> {
  const call = { operation: COUNT, body: Buffer.alloc(0) }
  const answer = await link.upload(call, copiesOf(count), { lane: 'bulk' })
  assert(Number(answer.toString()) === count * PART.length, 'all bytes arrive')
}

async function* copiesOf(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at++) yield PART
}

async function uploadBare(socket: net.Socket, count: number): Promise<void> {
  socket.write(Buffer.of(COUNT))
  for (let at = 0; at < count; at++) {
    if (!socket.write(PART)) await once(socket, 'drain')
  }
  socket.write(Buffer.of(COUNT))
  const [answer] = await once(socket, 'data')
  assert(Number(String(answer)) === count * PART.length + 2, 'all bytes arrive')
}
