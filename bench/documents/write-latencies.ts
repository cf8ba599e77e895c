import type { RowResult } from '../report/finding.ts'
import type { LoadResult } from '../load/load-job.ts'
import type { Bench } from '../suite.ts'
import { latencyOf } from './comparison.ts'
import { batchPath, createTable, startQuarry } from './quarry-server.ts'
import type { QuarryServer } from './quarry-server.ts'

const DOCUMENTS_PER_REQUEST = 10
const WARMUP_REQUESTS = 200
const SINGLE = 'batch of 10, one shard'
const TRANSACTION = 'transaction of 10 over 4 shards'

/** The same requests to a table of one shard and to one of four, one client, in turns. */
export async function writeLatencies(bench: Bench): Promise<RowResult> {
  await using server = await startQuarry(bench, 'latencies')
  await createTable(server, 'one-shard')
  await createTable(server, 'four-shards', { split_keys: ['b', 'c', 'd'] })
  const requests = bench.quick ? 300 : 1000
  const send = writer(bench, server)
  await send('one-shard', WARMUP_REQUESTS)
  await send('four-shards', WARMUP_REQUESTS)

  const single: LoadResult[] = []
  const transaction: LoadResult[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`write latencies: run ${run + 1} of ${bench.runs}`)
    single.push(await send('one-shard', requests))
    transaction.push(await send('four-shards', requests))
  }
  return resultOf(single, transaction)
}

function resultOf(single: readonly LoadResult[], transaction: readonly LoadResult[]): RowResult {
  const singleLatency = latencyOf(SINGLE, { side: 'quarry', clients: 1, results: single })
  const latency = latencyOf(TRANSACTION, { side: 'quarry', clients: 1, results: transaction })
  return {
    latencies: [singleLatency, latency],
    findings: [
      {
        kind: 'value',
        label: `${SINGLE}, p50`,
        unit: 'ms',
        ours: singleLatency.p50Ms,
        goal: { kind: 'below', value: 5 },
      },
      {
        kind: 'value',
        label: `${TRANSACTION}, p50`,
        unit: 'ms',
        ours: latency.p50Ms,
        goal: { kind: 'below', value: 20 },
      },
      {
        kind: 'ratio',
        label: `${TRANSACTION}, p50 against one shard`,
        unit: 'ms',
        peerName: SINGLE,
        ours: latency.p50Ms,
        peer: singleLatency.p50Ms,
        goal: { kind: 'at-most', value: 1.6 },
      },
    ],
  }
}

/** Every request writes keys that were not there before. */
function writer(
  { generator, seed }: Bench,
  { origin }: QuarryServer,
): (table: string, requests: number) => Promise<LoadResult> {
  let firstDocument = 0
  return (table, requests) => {
    const documents = requests * DOCUMENTS_PER_REQUEST
    const plan = {
      kind: 'insert-batches',
      path: batchPath(table),
      shape: 'kilobyte',
      seed,
      firstDocument,
      documents,
      documentsPerBatch: DOCUMENTS_PER_REQUEST,
      keyOrder: 'by-shard',
      prepared: true,
    } as const
    firstDocument += documents
    return generator.load({ origin, clients: 1, plan, until: { kind: 'end-of-plan' } })
  }
}
