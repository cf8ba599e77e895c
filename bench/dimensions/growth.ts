// What grows when one dimension does: the same figures of a store where it is small and of one where it is large.

import type { RowResult } from '../report/finding.ts'
import { startQuarry, type QuarryServer } from '../documents/quarry-server.ts'
import type { Bench } from '../suite.ts'

/** One figure of a store, by what it is, such as "ms for a query". */
export type Figures = Readonly<Record<string, number>>

/** A dimension, and how many times a figure may grow between its two sizes. */
export interface Dimension {
  readonly name: string
  readonly small: number
  readonly large: number
  readonly goals: Readonly<Record<string, number>>
  /** Fills an empty store, and measures it. */
  measure(server: QuarryServer, size: number, bench: Bench): Promise<Figures>
}

/** Each figure is a ratio: the large store against the small one, in turns. */
export async function growth(bench: Bench, dimension: Dimension): Promise<RowResult> {
  const { name, small, large, goals } = dimension
  const found: { readonly small: Figures; readonly large: Figures }[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`${name}: run ${run + 1} of ${bench.runs}`)
    found.push({
      small: await measured(bench, dimension, { size: small, run }),
      large: await measured(bench, dimension, { size: large, run }),
    })
  }
  const units = Object.keys(found[0]?.small ?? {})
  return {
    findings: units.map((unit) => ({
      kind: 'ratio',
      label: `${large} ${name}`,
      unit,
      peerName: `${small} ${name}`,
      ours: found.map((pair) => pair.large[unit] ?? NaN),
      peer: found.map((pair) => pair.small[unit] ?? NaN),
      ...(goals[unit] === undefined ? {} : { goal: { kind: 'at-most', value: goals[unit] } }),
    })),
  }
}

interface Turn {
  readonly size: number
  readonly run: number
}

async function measured(bench: Bench, dimension: Dimension, { size, run }: Turn): Promise<Figures> {
  await using server = await startQuarry(bench, `${dimension.name}-${size}-${run}`)
  return await dimension.measure(server, size, bench) // the server ends with this block
}

/** The least time in milliseconds of some calls: the others had to wait for something else. */
export async function leastMs(bench: Bench, call: () => Promise<unknown>): Promise<number> {
  const CALLS = 7
  let least = Infinity
  for (let at = 0; at < CALLS; at += 1) {
    const beganMs = bench.clock.monotonicMs()
    await call()
    least = Math.min(least, bench.clock.monotonicMs() - beganMs)
  }
  return least
}
