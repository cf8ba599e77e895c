// The same load at several numbers of clients, on our server and on a peer in turns.

import type { Goal, LatencyFinding, RatioFinding, RowResult } from '../report/finding.ts'
import type { LoadResult, RequestPlan } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import type { Bench } from '../suite.ts'

const CLIENTS_TO_WARM_UP = 64
const SETTLE_TIMEOUT_MS = 3000
const GENERATOR_BUSY = 0.95

export interface Side {
  readonly name: string
  readonly origin: string
  readonly pid: number
  /** The plan of the next run: writes use new keys each time. */
  nextPlan(run: number): RequestPlan
}

export interface Comparison {
  readonly label: string
  /** For the ratio of throughputs, by number of clients. */
  readonly goals: ReadonlyMap<number, Goal>
  readonly ours: Side
  readonly peer: Side
}

export async function compare(bench: Bench, comparison: Comparison): Promise<RowResult> {
  const findings: RatioFinding[] = []
  const latencies: LatencyFinding[] = []
  const notes: string[] = []
  await warmUp(bench, comparison)
  for (const clients of bench.clients) {
    const { ours, peer } = await runInTurns(bench, comparison, clients)
    const goal = comparison.goals.get(clients)
    const label = `${comparison.label}, ${clients} ${clients === 1 ? 'client' : 'clients'}`
    findings.push({
      kind: 'ratio',
      label,
      unit: '/s',
      peerName: comparison.peer.name,
      ours: ours.map(perSecond),
      peer: peer.map(perSecond),
      ...(goal && { goal }),
    })
    latencies.push(latencyOf(comparison.label, { side: 'quarry', clients, results: ours }))
    latencies.push(
      latencyOf(comparison.label, { side: comparison.peer.name, clients, results: peer }),
    )
    notes.push(...generatorNotes(label, [...ours, ...peer]))
  }
  return { findings, latencies, notes }
}

/** The compilers of both sides get to see the work once before anything counts. */
async function warmUp(bench: Bench, { label, ours, peer }: Comparison): Promise<void> {
  bench.progress(`${label}: warm-up`)
  const load = { clients: CLIENTS_TO_WARM_UP, run: 0 }
  await runOnce(bench, ours, load)
  await runOnce(bench, peer, load)
}

interface Turns {
  readonly ours: readonly LoadResult[]
  readonly peer: readonly LoadResult[]
}

async function runInTurns(
  bench: Bench,
  { label, ours, peer }: Comparison,
  clients: number,
): Promise<Turns> {
  const results = { ours: [] as LoadResult[], peer: [] as LoadResult[] }
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`${label}: ${clients} clients, run ${run + 1} of ${bench.runs}`)
    results.ours.push(await runOnce(bench, ours, { clients, run }))
    results.peer.push(await runOnce(bench, peer, { clients, run }))
  }
  return results
}

export async function runOnce(
  { generator, quick, clock }: Bench,
  side: Side,
  { clients, run }: { readonly clients: number; readonly run: number },
): Promise<LoadResult> {
  const result = await generator.load({
    origin: side.origin,
    clients,
    plan: side.nextPlan(run),
    until: { kind: 'time', warmupMs: quick ? 200 : 500, ms: quick ? 500 : 2000 },
  })
  await settle(side.pid, clock, SETTLE_TIMEOUT_MS) // so that the other side's turn is its own
  return result
}

export function perSecond({ requests, elapsedMs }: LoadResult): number {
  return (requests / elapsedMs) * 1000
}

export function latencyOf(
  label: string,
  of: {
    readonly side: string
    readonly clients: number
    readonly results: readonly LoadResult[]
  },
): LatencyFinding {
  return {
    label,
    side: of.side,
    clients: of.clients,
    p50Ms: of.results.map(({ p50Ms }) => p50Ms),
    p95Ms: of.results.map(({ p95Ms }) => p95Ms),
    p99Ms: of.results.map(({ p99Ms }) => p99Ms),
  }
}

function generatorNotes(label: string, results: readonly LoadResult[]): readonly string[] {
  const busiest = Math.max(...results.map(({ generatorCpu }) => generatorCpu))
  if (busiest < GENERATOR_BUSY) return []
  return [
    `${label}: the load generator used ${Math.round(busiest * 100)} % of a core at its busiest, ` +
      'so the faster side may have been held back by it',
  ]
}
