// The same work on several sides in turns.

import { must } from '../../lib/assert.ts'
import type { LoadResult, RequestPlan } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import { readTreeCpuSeconds } from '../process-tree.ts'
import type { Bench } from '../suite.ts'

const CLIENTS_TO_WARM_UP = 64
const SETTLE_TIMEOUT_MS = 3000
const GENERATOR_BUSY = 0.95

/** One of the sides: where the load goes, and the processes that serve it, the busiest one first. */
export interface TurnSide {
  readonly name: string
  readonly origins: readonly string[]
  readonly pids: readonly number[]
  /** The plan of the next run: writes use new keys each time. */
  nextPlan(run: number): RequestPlan
}

/** A run, and the processor time that all processes of its side took. */
export interface MeasuredRun extends LoadResult {
  readonly cpuSeconds: number
}

/** What one side did in all runs, in their order. */
export interface SideResults {
  readonly side: TurnSide
  readonly results: readonly MeasuredRun[]
}

/** Runs the load on each side in turns, A B C A B C. */
export async function runTurns(
  bench: Bench,
  sides: readonly TurnSide[],
  { label, clients }: { readonly label: string; readonly clients: number },
): Promise<readonly SideResults[]> {
  const all = sides.map((side) => ({ side, results: [] as MeasuredRun[] }))
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`${label}: ${clients} clients, run ${run + 1} of ${bench.runs}`)
    for (const { side, results } of all) results.push(await runOnce(bench, side, { clients, run }))
  }
  return all
}

/** Runs the work once before measuring, so that the compilers of all sides have seen it. */
export async function warmUp(bench: Bench, sides: readonly TurnSide[]): Promise<void> {
  for (const side of sides) {
    bench.progress(`${side.name}: warm-up`)
    for (let round = 0; round < 2; round += 1) {
      // A quick run is too short for it: the first lookup through another node connects to the leader.
      await runOnce({ ...bench, quick: false }, side, { clients: CLIENTS_TO_WARM_UP, run: 0 })
    }
  }
}

async function runOnce(
  { generator, quick, clock }: Bench,
  side: TurnSide,
  { clients, run }: { readonly clients: number; readonly run: number },
): Promise<MeasuredRun> {
  const { pids } = side
  const [origin = '', ...otherOrigins] = side.origins
  const cpuBefore = await cpuOf(pids)
  const result = await generator.load({
    origin,
    otherOrigins,
    clients,
    plan: side.nextPlan(run),
    until: { kind: 'time', warmupMs: quick ? 200 : 500, ms: quick ? 700 : 2000 },
  })
  const cpuSeconds = (await cpuOf(pids)) - cpuBefore
  // So that the next side's turn is its own.
  await settle(must(pids[0], 'a process'), clock, SETTLE_TIMEOUT_MS)
  return { ...result, cpuSeconds }
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(pids.map(readTreeCpuSeconds))
  return seconds.reduce((sum, each) => sum + each, 0)
}

/** Processor time of one request in µs, of all processes of the side. */
export function cpuMicros({ cpuSeconds, answered }: MeasuredRun): number {
  return (cpuSeconds / answered) * 1e6
}

/** Notes on runs in which the generator may have held a side back. */
export function generatorNotes(label: string, sides: readonly SideResults[]): readonly string[] {
  const all = sides.flatMap(({ results }) => results)
  const busiest = Math.max(...all.map(({ generatorCpu }) => generatorCpu))
  if (busiest < GENERATOR_BUSY) return []
  return [
    `${label}: the load generator used ${Math.round(busiest * 100)} % of a core at its busiest`,
  ]
}
