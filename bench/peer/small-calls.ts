// Calls of 200 bytes, one at a time and 64 at a time, against frames of 200 bytes that a bare
// server of node:net sends back without reading them.

import type net from 'node:net'
import type { PeerLink } from '../../node/peer/peer.ts'
import type { RatioFinding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { ECHO } from './bench-node.ts'
import { connectBare, costOf, openClient, startServer } from './echo-servers.ts'
import type { Cost } from './echo-servers.ts'

const BODY = Buffer.alloc(200, ECHO)
const DEPTHS = [1, 64]
const CALLS = 20_000
const CALLS_QUICK = 5000
const PEER_NAME = 'bare node:net echo'

export async function smallCalls(bench: Bench): Promise<RowResult> {
  const [ours, bare] = [await startServer('quarry'), await startServer('bare')]
  await using stack = new AsyncDisposableStack()
  stack.use(ours.process)
  stack.use(bare.process)
  const client = stack.use(await openClient())
  const link = client.link({ nodeId: 'server', host: '127.0.0.1', port: ours.port })
  const socket = await connectBare(bare.port)
  stack.defer(() => void socket.destroy())

  const calls = bench.quick ? CALLS_QUICK : CALLS
  const findings: RatioFinding[] = []
  for (const depth of DEPTHS) {
    await callOurs(link, { calls, depth }) // so that the compilers have seen it
    await callBare(socket, { calls, depth })
    const [oursCosts, bareCosts]: [Cost[], Cost[]] = [[], []]
    for (let run = 0; run < bench.runs; run++) {
      bench.progress(`calls: ${depth} at a time, run ${run + 1} of ${bench.runs}`)
      oursCosts.push(await costOf(ours.process, () => callOurs(link, { calls, depth })))
      bareCosts.push(await costOf(bare.process, () => callBare(socket, { calls, depth })))
    }
    const common = { kind: 'ratio', peerName: PEER_NAME } as const
    const label = `calls of 200 bytes, ${depth} at a time`
    const rate = ({ seconds }: Cost): number => calls / seconds
    const cpu = ({ cpuSeconds }: Cost): number => (cpuSeconds / calls) * 1e6
    findings.push(
      { ...common, label, unit: '/s', ours: oursCosts.map(rate), peer: bareCosts.map(rate) },
      {
        ...common,
        label: `${label}: processor time of both sides`,
        unit: 'µs',
        ours: oursCosts.map(cpu),
        peer: bareCosts.map(cpu),
      },
    )
  }
  return { findings }
}

interface Work {
  readonly calls: number
  readonly depth: number
}

async function callOurs(link: PeerLink, { calls, depth }: Work): Promise<void> {
  let left = calls
  const one = async (): Promise<void> => {
    while (left-- > 0) await link.call({ operation: ECHO, body: BODY }, { timeoutMs: 60_000 })
  }
  await Promise.all(Array.from({ length: depth }, one))
}

function callBare(socket: net.Socket, { calls, depth }: Work): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let [sent, receivedBytes] = [0, 0]
  const send = (): void => {
    if (sent++ < calls) socket.write(BODY)
  }
  const onData = (bytes: Buffer): void => {
    const before = Math.floor(receivedBytes / BODY.length)
    receivedBytes += bytes.length
    const answers = Math.floor(receivedBytes / BODY.length) - before
    for (let at = 0; at < answers; at++) send()
    if (receivedBytes < calls * BODY.length) return
    socket.off('data', onData)
    resolve()
  }
  socket.on('data', onData)
  for (let at = 0; at < depth; at++) send()
  return promise
}
