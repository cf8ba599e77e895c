// What the soak of slices saw, as Markdown.

import { percentile, Samples } from '../../bench/report/statistics.ts'
import { boundMs, type Bucket, type SliceFigures, type Watched } from './slice-bounds.ts'

/** Refusals that the contract allows under load: a conflict, no room in a budget. */
const EXPECTED = new Set([200, 201, 404, 409, 503])
const BROKEN_MAX = 10

export interface Answered {
  readonly kind: string
  readonly status: number
  readonly text: string
  readonly ms: number
}

export class RequestTally {
  readonly #latencies = new Map<string, Samples>()
  readonly #refused = new Map<string, number>()
  readonly #broken: string[] = []

  add({ kind, status, text, ms }: Answered): void {
    const samples = this.#latencies.get(kind) ?? new Samples()
    this.#latencies.set(kind, samples)
    samples.add(ms)
    if (status === 503) this.#refused.set(kind, (this.#refused.get(kind) ?? 0) + 1)
    if (EXPECTED.has(status) || this.#broken.length === BROKEN_MAX) return
    this.#broken.push(`${kind}: ${status} ${text.slice(0, 300)}`)
  }

  /** The first answers that nothing explains. */
  broken(): readonly string[] {
    return this.#broken
  }

  rows(): readonly string[] {
    return [...this.#latencies].map(([kind, samples]) => {
      const sorted = samples.sorted()
      const at = (fraction: number): string => percentile(sorted, fraction).toFixed(1)
      const refused = this.#refused.get(kind) ?? 0
      return `| ${kind} | ${sorted.length} | ${refused} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`
    })
  }
}

export interface SoakFigures {
  readonly slices: Readonly<Record<Watched, SliceFigures>>
  readonly tally: RequestTally
  /** MiB, at the start and at the end. */
  readonly resident: readonly number[]
  readonly soakSeconds: number
}

const TITLES: Readonly<Record<Watched, string>> = {
  loop: 'turn of the event loop',
  worker: 'slice of text workers',
}

export function figuresOf(figures: SoakFigures): string {
  const { slices, tally, resident, soakSeconds } = figures
  const [start = 0, end = 0] = resident
  return [
    `${soakSeconds} s; resident ${start.toFixed(0)} MiB at the start, ${end.toFixed(0)} MiB at the end.`,
    '',
    '| request | answers | refused (503) | p50 ms | p99 ms | longest ms |',
    '| --- | --- | --- | --- | --- | --- |',
    ...tally.rows(),
    ...(['loop', 'worker'] as const).flatMap((thread) => [
      '',
      ...histogramOf(TITLES[thread], slices[thread]),
      '',
      `Bound: ${boundMs(thread)} ms of work. The longest:\n`,
      ...slices[thread].longest
        .slice(0, 8)
        .map(({ operation, workMs }) => `- ${operation}: ${workMs.toFixed(1)} ms`),
    ]),
  ].join('\n')
}

function histogramOf(title: string, { wall, cpu, work }: SliceFigures): readonly string[] {
  return [
    `| ${title} | by the clock | of CPU | of work |`,
    '| --- | --- | --- | --- |',
    ...wall.map(
      ({ upToMs, count }, i) =>
        `| ${boundOf(wall, upToMs)} | ${count} | ${cpu[i]?.count} | ${work[i]?.count} |`,
    ),
  ]
}

function boundOf(buckets: readonly Bucket[], upToMs: number): string {
  return upToMs === Infinity ? `above ${buckets.at(-2)?.upToMs} ms` : `to ${upToMs} ms`
}
