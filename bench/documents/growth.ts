import type { RatioFinding, RowResult } from '../report/finding.ts'
import type { RequestPlan } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { perSecond, runOnce } from './comparison.ts'
import type { Side } from './comparison.ts'
import { LARGE_TABLE } from './large-store.ts'
import type { LargeStore } from './large-store.ts'
import { loadTable } from './load-table.ts'
import { SETTLE_TIMEOUT_MS, batchPath, createTable, lookupPath } from './quarry-server.ts'
import { startQuarry } from './quarry-server.ts'
import type { QuarryServer } from './quarry-server.ts'
import { insertPlans } from './single-writes.ts'

const GROWTH = 10
const CLIENTS = 64
const GOAL = { kind: 'at-most', value: 1.5 } as const
const US_PER_SECOND = 1_000_000

/** The cost of an operation on the large store, over its cost on one with a tenth of the data. */
export async function growth(bench: Bench, large: LargeStore): Promise<RowResult> {
  const { server: largeServer } = await large.loaded()
  await settle(largeServer.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  const documents = large.documents / GROWTH
  await using smallServer = await startQuarry(bench, 'growth-small')
  await createTable(smallServer, 'small')
  await loadTable(bench, smallServer, { table: 'small', shape: 'kilobyte', documents })
  const stores = {
    large: { server: largeServer, table: LARGE_TABLE, documents: large.documents },
    small: { server: smallServer, table: 'small', documents },
  }
  const lookups = await compareSizes(bench, stores, { label: 'lookup', planFor: lookupPlans })
  const writes = await compareSizes(bench, stores, { label: 'single write', planFor: writePlans })
  return { findings: [lookups, writes] }
}

interface Store {
  readonly server: QuarryServer
  readonly table: string
  readonly documents: number
}

interface Stores {
  readonly large: Store
  readonly small: Store
}

interface Work {
  readonly label: string
  readonly planFor: (bench: Bench, store: Store) => (run: number) => RequestPlan
}

async function compareSizes(
  bench: Bench,
  { large, small }: Stores,
  { label, planFor }: Work,
): Promise<RatioFinding> {
  const largeSide = sideOf(large, planFor(bench, large))
  const smallSide = sideOf(small, planFor(bench, small))
  const costs = { large: [] as number[], small: [] as number[] }
  const cost = async (side: Side, run: number): Promise<number> =>
    US_PER_SECOND / perSecond(await runOnce(bench, side, { clients: CLIENTS, run }))
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`growth: ${label}, run ${run + 1} of ${bench.runs}`)
    costs.large.push(await cost(largeSide, run))
    costs.small.push(await cost(smallSide, run))
  }
  return {
    kind: 'ratio',
    label: `${label} among ${formatNumber(large.documents)}, ${CLIENTS} clients`,
    unit: 'µs',
    peerName: `among ${formatNumber(small.documents)}`,
    ours: costs.large,
    peer: costs.small,
    goal: GOAL,
  }
}

function sideOf({ server, table }: Store, nextPlan: Side['nextPlan']): Side {
  return { name: table, origin: server.origin, pid: server.process.pid, nextPlan }
}

function lookupPlans({ seed }: Bench, { table, documents }: Store): (run: number) => RequestPlan {
  return (run) => ({ kind: 'lookups', path: lookupPath(table), seed: seed + run, documents })
}

function writePlans({ seed }: Bench, { table, documents }: Store): () => RequestPlan {
  const plans = insertPlans(seed, documents)
  return () => plans({ kind: 'batch', path: batchPath(table) })
}
