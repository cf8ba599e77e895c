// How long a worker held its thread without a pause, and its longest operation.

/** Upper bounds in milliseconds; the last bucket has none. */
export const SLICE_BUCKETS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 150, 200, 500, 1000, 5000,
]

/** How long one slice held its thread, in milliseconds. */
export interface MeasuredSlice {
  readonly operation: string
  readonly ms: number
  /** The CPU time of this thread, without the time in which other threads had their turn. */
  readonly cpuMs: number
  /** The CPU time without collections of garbage. */
  readonly workMs: number
}

/** Times in buckets, as histograms of Prometheus have them. */
export interface Distribution {
  /** By bucket; the last one is above the last bound. */
  readonly counts: readonly number[]
  readonly sumMs: number
}

/** All slices of a worker, as plain data. */
export interface SliceReport {
  /** How long the slices were by the clock, of CPU time, and without collections. */
  readonly wall: Distribution
  readonly cpu: Distribution
  readonly work: Distribution
  /** How long collections of garbage were, in slices or not. */
  readonly collections: Distribution
  /** By wall time; undefined before the first slice. */
  readonly longest: MeasuredSlice | undefined
  readonly longestByWork: MeasuredSlice | undefined
  /** By operation, the work of its longest slice. */
  readonly longestWorkMs: ReadonlyMap<string, number>
}

export function emptyReport(): SliceReport {
  return new SliceHistogram().report()
}

/** Counts the slices of one worker. */
export class SliceHistogram {
  readonly #wall = new Counts()
  readonly #cpu = new Counts()
  readonly #work = new Counts()
  readonly #collections = new Counts()
  readonly #longestWorkMs = new Map<string, number>()
  #longest: MeasuredSlice | undefined
  #longestByWork: MeasuredSlice | undefined

  add(slice: MeasuredSlice): void {
    const { operation, ms, cpuMs, workMs } = slice
    this.#wall.add(ms)
    this.#cpu.add(cpuMs)
    this.#work.add(workMs)
    this.#longest = longer(this.#longest, slice, 'ms')
    this.#longestByWork = longer(this.#longestByWork, slice, 'workMs')
    const longestMs = this.#longestWorkMs.get(operation) ?? 0
    if (workMs > longestMs) this.#longestWorkMs.set(operation, workMs)
  }

  addCollection(ms: number): void {
    this.#collections.add(ms)
  }

  report(): SliceReport {
    return {
      wall: this.#wall.report(),
      cpu: this.#cpu.report(),
      work: this.#work.report(),
      collections: this.#collections.report(),
      longest: this.#longest,
      longestByWork: this.#longestByWork,
      longestWorkMs: new Map(this.#longestWorkMs),
    }
  }
}

class Counts {
  readonly #counts = Array.from({ length: SLICE_BUCKETS_MS.length + 1 }, () => 0)
  #sumMs = 0

  add(ms: number): void {
    const bucket = SLICE_BUCKETS_MS.findIndex((bound) => ms <= bound)
    const at = bucket < 0 ? SLICE_BUCKETS_MS.length : bucket
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sumMs += ms
  }

  report(): Distribution {
    return { counts: [...this.#counts], sumMs: this.#sumMs }
  }
}

/** Merges the reports of several threads. */
export function mergeReports(reports: readonly SliceReport[]): SliceReport {
  return reports.reduce(
    (merged, report) => ({
      wall: added(merged.wall, report.wall),
      cpu: added(merged.cpu, report.cpu),
      work: added(merged.work, report.work),
      collections: added(merged.collections, report.collections),
      longest: longer(merged.longest, report.longest, 'ms'),
      longestByWork: longer(merged.longestByWork, report.longestByWork, 'workMs'),
      longestWorkMs: longestOf(merged.longestWorkMs, report.longestWorkMs),
    }),
    emptyReport(),
  )
}

function added(one: Distribution, more: Distribution): Distribution {
  return {
    counts: one.counts.map((count, i) => count + (more.counts[i] ?? 0)),
    sumMs: one.sumMs + more.sumMs,
  }
}

function longestOf(
  merged: ReadonlyMap<string, number>,
  more: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const longest = new Map(merged)
  for (const [operation, ms] of more) {
    longest.set(operation, Math.max(ms, longest.get(operation) ?? 0))
  }
  return longest
}

function longer(
  a: MeasuredSlice | undefined,
  b: MeasuredSlice | undefined,
  by: 'ms' | 'workMs',
): MeasuredSlice | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return b[by] > a[by] ? b : a
}
