// All nodes are restarted, one after the other, while clients of ours write and read.

import { messageOf } from '../../lib/errors.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { buildDocumentSource, documentKey } from '../data/document-source.ts'
import type { DocumentSource } from '../data/document-source.ts'
import type { RowResult } from '../report/finding.ts'
import { percentile, Samples } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { startCluster } from './quarry-cluster.ts'
import type { QuarryCluster } from './quarry-cluster.ts'

const TABLE = 'rolling'
const CLIENTS = 6
const STEADY_MS = 5000
const P99 = 0.99
const FAILURES_SHOWN = 3

/** What the clients saw in one part of the run. */
interface Seen {
  latencies: Samples
  readonly failures: string[]
}

export async function rollingRestart(bench: Bench): Promise<RowResult> {
  await using cluster = await startCluster(bench, 'rolling')
  await cluster.createTable(TABLE, { num_shards: 3 })
  const seen: Seen = { latencies: new Samples(), failures: [] }
  const stop = new AbortController()
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    runClient(bench, { cluster, index, seen, stop: stop.signal }),
  )
  await bench.clock.sleep(STEADY_MS) // so that the compilers have seen it
  seen.latencies = new Samples()
  bench.progress('rolling restart: the usual')
  await bench.clock.sleep(STEADY_MS)
  const usual = seen.latencies
  seen.latencies = new Samples()
  for (const node of cluster.nodes) {
    bench.progress(`rolling restart: ${node.name}`)
    await node.stop()
    await node.start()
    await cluster.untilInSync(TABLE)
  }
  stop.abort()
  await Promise.all(clients)
  return resultOf(usual, seen)
}

function resultOf(usual: Samples, { latencies, failures }: Seen): RowResult {
  const label = `rolling restart, ${CLIENTS} clients that retry`
  return {
    findings: [
      {
        kind: 'value',
        label: `${label}: failed requests`,
        unit: '',
        ours: [failures.length],
        goal: { kind: 'at-most', value: 0 },
      },
      {
        kind: 'ratio',
        label: `${label}: p99`,
        unit: 'ms',
        peerName: 'before it',
        ours: [percentile(latencies.sorted(), P99)],
        peer: [percentile(usual.sorted(), P99)],
        goal: { kind: 'at-most', value: 3 },
      },
    ],
    notes: [
      `rolling restart: ${latencies.length} requests meanwhile, the longest took ` +
        `${Math.round(percentile(latencies.sorted(), 1))} ms`,
      ...failures.slice(0, FAILURES_SHOWN),
    ],
  }
}

interface ClientWork {
  readonly cluster: QuarryCluster
  readonly index: number
  readonly seen: Seen
  readonly stop: AbortSignal
}

/** Writes a document and reads it, again and again. Each client begins with another node. */
async function runClient(
  { clock, seed }: Bench,
  { cluster, index, seen, stop }: ClientWork,
): Promise<void> {
  const origins = cluster.nodes.map(({ origin }) => origin)
  const first = index % origins.length
  const baseUrl = [...origins.slice(first), ...origins.slice(0, first)]
  const client = new StoreClient({ baseUrl })
  const documents = buildDocumentSource('kilobyte', seed)
  for (let at = index; !stop.aborted; at += CLIENTS) {
    for (const work of [() => write(client, documents, at), () => read(client, at)]) {
      const beganMs = clock.monotonicMs()
      try {
        await work()
        seen.latencies.add(clock.monotonicMs() - beganMs)
      } catch (error) {
        seen.failures.push(messageOf(error))
      }
    }
  }
}

async function write(client: StoreClient, documents: DocumentSource, at: number): Promise<void> {
  const inserts = { [spreadKey(at)]: JSON.parse(documents.documentAt(at)) }
  await client.batchWrite(TABLE, { inserts })
}

async function read(client: StoreClient, at: number): Promise<void> {
  await client.lookupDocument(TABLE, spreadKey(at))
}

/** So that every shard gets some: ranges are cut between bytes. */
function spreadKey(at: number): string {
  return `${String.fromCharCode(0x21 + ((at * 29) % 94))}${documentKey(at)}`
}
