// What the store says of its slices, and how long they may be.

import { WORK_MS_MAX } from '../support/slices/slice-rule.ts'

export type Watched = keyof typeof WORK_MS_MAX

/** The watch of the loop looks every so often, and cannot tell a turn from the one that it woke up in. */
const WATCH_MS: Readonly<Record<Watched, number>> = { loop: 10, worker: 0 }

/** The bound of the work in a slice, without collections of garbage. */
export function boundMs(thread: Watched): number {
  return WORK_MS_MAX[thread] + WATCH_MS[thread]
}

export interface SliceFigures {
  /** How many were at most so many milliseconds long, more than the bucket before. */
  readonly wall: readonly Bucket[]
  readonly cpu: readonly Bucket[]
  /** The CPU time without collections of garbage. */
  readonly work: readonly Bucket[]
  /** By what was done, the longest first. */
  readonly longest: readonly { readonly operation: string; readonly workMs: number }[]
}

export interface Bucket {
  readonly upToMs: number
  readonly count: number
}

const NAMES: Readonly<
  Record<Watched, Readonly<Record<'wall' | 'cpu' | 'work' | 'longest', string>>>
> = {
  loop: {
    wall: 'quarry_event_loop_hold_seconds',
    cpu: 'quarry_event_loop_hold_cpu_seconds',
    work: 'quarry_event_loop_hold_work_seconds',
    longest: 'quarry_event_loop_longest_hold_seconds',
  },
  worker: {
    wall: 'quarry_text_worker_slice_seconds',
    cpu: 'quarry_text_worker_slice_cpu_seconds',
    work: 'quarry_text_worker_slice_work_seconds',
    longest: 'quarry_text_worker_longest_slice_seconds',
  },
}

export async function readSlices(health: string): Promise<Readonly<Record<Watched, SliceFigures>>> {
  const text = await (await fetch(`${health}/metrics`)).text()
  return { loop: figuresIn(text, 'loop'), worker: figuresIn(text, 'worker') }
}

function figuresIn(text: string, thread: Watched): SliceFigures {
  const { wall, cpu, work, longest } = NAMES[thread]
  const found = [...text.matchAll(new RegExp(`^${longest}\\{operation="(.*)"\\} (.*)$`, 'gm'))]
  return {
    wall: bucketsOf(text, wall),
    cpu: bucketsOf(text, cpu),
    work: bucketsOf(text, work),
    longest: found
      .map(([, operation = '', seconds]) => ({ operation, workMs: Number(seconds) * 1000 }))
      .toSorted((a, b) => b.workMs - a.workMs),
  }
}

function bucketsOf(text: string, name: string): readonly Bucket[] {
  let before = 0
  return [...text.matchAll(new RegExp(`^${name}_bucket\\{le="(.*)"\\} (\\d+)$`, 'gm'))].map(
    ([, bound, total]) => {
      const count = Number(total) - before
      before = Number(total)
      return { upToMs: bound === '+Inf' ? Infinity : Number(bound) * 1000, count }
    },
  )
}
