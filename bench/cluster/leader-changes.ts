// A leader that is killed, and one that hands over: how long writes wait.

import { batchPath, call } from '../documents/quarry-server.ts'
import { buildRequests } from '../load/requests.ts'
import type { NextRequest } from '../load/requests.ts'
import type { RowResult } from '../report/finding.ts'
import { median } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { startCluster } from './quarry-cluster.ts'
import type { BenchNode, QuarryCluster } from './quarry-cluster.ts'
import { SteadyWriters } from './steady-writers.ts'

const TABLE = 'changes'
/** The lease of a node, and what an election may take. */
const FAILOVER_MS_MAX = 12_000
const STALL_MS_MAX = 100
const WRITERS_PER_NODE = 2
const WRITES_BEFORE = 100
const WRITES_AFTER = 50
const KILLS_MAX = 3

/** A leader is killed; the others are asked. */
export async function failover(bench: Bench): Promise<RowResult> {
  await using cluster = await startCluster(bench, 'failover')
  await cluster.createTable(TABLE, { num_shards: 1 })
  const requests = insertRequests(bench.seed)
  const resumed: number[] = []
  for (let run = 0; run < Math.min(bench.runs, bench.quick ? 1 : KILLS_MAX); run += 1) {
    bench.progress(`failover: kill ${run + 1}`)
    resumed.push(await killLeader(bench, cluster, requests))
  }
  return {
    findings: [
      {
        kind: 'value',
        label: 'leader killed: until writes are acknowledged again',
        unit: 'ms',
        ours: resumed,
        goal: { kind: 'at-most', value: FAILOVER_MS_MAX },
      },
    ],
  }
}

async function killLeader(
  bench: Bench,
  cluster: QuarryCluster,
  requests: NextRequest,
): Promise<number> {
  const leader = await cluster.leaderOf(TABLE)
  const writers = new SteadyWriters(bench, originsOf(cluster.othersThan(leader)), requests)
  await writers.progress(WRITES_BEFORE)
  const killedMs = bench.clock.monotonicMs()
  await leader.kill()
  const goneMs = bench.clock.monotonicMs()
  await writers.progress(WRITES_AFTER)
  await writers.stop()
  await leader.start()
  await cluster.untilInSync(TABLE)
  // What was under way when it died may be acknowledged still: only later writes tell.
  return writers.resumedAfterMs(goneMs + 1) + goneMs + 1 - killedMs
}

/** The leader hands over to each of the others in turn, while all nodes are asked. */
export async function handOver(bench: Bench): Promise<RowResult> {
  await using cluster = await startCluster(bench, 'hand-over')
  await cluster.createTable(TABLE, { num_shards: 1 })
  const requests = insertRequests(bench.seed)
  const writers = new SteadyWriters(bench, originsOf(cluster.nodes), requests)
  await writers.progress(WRITES_BEFORE)
  const stalls: number[] = []
  const usual: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`hand-over: run ${run + 1} of ${bench.runs}`)
    usual.push(await longestDuring(bench, writers, async () => undefined))
    stalls.push(await longestDuring(bench, writers, () => transfer(cluster)))
  }
  await writers.stop()
  return {
    findings: [
      {
        kind: 'value',
        label: 'planned hand-over: longest write',
        unit: 'ms',
        ours: stalls,
        goal: { kind: 'at-most', value: STALL_MS_MAX },
      },
    ],
    notes: [
      `planned hand-over: the longest write of as many without one took ${Math.round(median(usual))} ms; ` +
        `${writers.failures} attempts were refused in all`,
    ],
  }
}

async function longestDuring(
  { clock }: Bench,
  writers: SteadyWriters,
  change: () => Promise<void>,
): Promise<number> {
  const sinceMs = clock.monotonicMs()
  await change()
  await writers.progress(WRITES_AFTER)
  return writers.longestMs(sinceMs)
}

/** Resolves when the new leader is named; it serves a moment later. */
async function transfer(cluster: QuarryCluster): Promise<void> {
  const leader = await cluster.leaderOf(TABLE)
  const [shard] = await cluster.shards(TABLE)
  const [next] = cluster.othersThan(leader)
  const to = await next?.id()
  await call(`${leader.origin}/api/v1/cluster/shards/${shard?.id}/transfer-leader`, 'POST', { to })
}

function originsOf(nodes: readonly BenchNode[]): readonly string[] {
  return nodes.flatMap(({ origin }) => Array.from({ length: WRITERS_PER_NODE }, () => origin))
}

function insertRequests(seed: number): NextRequest {
  const target = { kind: 'batch', path: batchPath(TABLE) } as const
  return buildRequests({ kind: 'insert-each', target, seed, firstDocument: 0 })
}
