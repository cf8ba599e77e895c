// A reference loop, run beside what is measured: how many times slower this machine is now than the one for which the
// bounds of slices were chosen. Time of the processor counts no other program, but it contains what a host takes from
// a virtual machine, and what a neighbour on the same core does to caches and clock.

/** CPU time of one run of the loop on the machine for which the bounds were chosen. */
const YARDSTICK_MS = 3
/** Together much longer than the ticks in which some kernels count CPU time. */
const YARDSTICK_RUNS = 20
const YARDSTICK = JSON.stringify(
  Array.from({ length: 4000 }, (_, n) => ({
    n,
    title: `title ${n}`,
    tags: ['sea', 'sand', `${n}`],
  })),
)

/** How many times slower than that machine this one is now, at least 1. Takes about 60 ms. */
export function slowdown(): number {
  const { cpuMs } = timed(() => {
    for (let run = 0; run < YARDSTICK_RUNS; run += 1) JSON.stringify(JSON.parse(YARDSTICK))
  })
  return Math.max(1, cpuMs / YARDSTICK_RUNS / YARDSTICK_MS)
}

export interface Timed<Result> {
  readonly result: Result
  /** What the work took of the processor in this thread, in milliseconds of this machine as it is now. */
  readonly cpuMs: number
}

export function timed<Result>(work: () => Result): Timed<Result> {
  const before = process.threadCpuUsage()
  const result = work()
  const { user, system } = process.threadCpuUsage(before)
  return { result, cpuMs: (user + system) / 1000 }
}
