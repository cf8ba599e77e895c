// Reads the memory and processor time of a process from /proc. Linux only, like the whole bench.

import { readFile } from 'node:fs/promises'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'

const SAMPLE_PERIOD_MS = 100
/** USER_HZ, which Linux fixes at 100 for everything that /proc shows. */
const TICKS_PER_SECOND = 100
const SETTLE_PERIOD_MS = 300
const SETTLED_CPU_SHARE = 0.05

/** In MiB. Resident is the sum of the anonymous part (the heaps) and the mapped files. */
export interface ProcessMemory {
  readonly resident: number
  readonly anonymous: number
  readonly file: number
  readonly residentPeak: number
}

export async function readProcessMemory(pid: number): Promise<ProcessMemory> {
  return parseProcessMemory(await readFile(`/proc/${pid}/status`, 'utf8'))
}

export function parseProcessMemory(status: string): ProcessMemory {
  const mebibytes = (name: string): number => {
    const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
    assert(kibibytes !== undefined, `/proc/<pid>/status has ${name}`)
    return Number(kibibytes) / 1024
  }
  return {
    resident: mebibytes('VmRSS'),
    anonymous: mebibytes('RssAnon'),
    file: mebibytes('RssFile'),
    residentPeak: mebibytes('VmHWM'),
  }
}

/** Reads a process' memory every 100 ms until `stop`, which answers everything it saw. */
export class MemorySampler {
  readonly #samples: ProcessMemory[] = []
  readonly #stop: () => Promise<void>

  constructor(pid: number, clock: Clock) {
    this.#stop = clock.every(SAMPLE_PERIOD_MS, async () => {
      this.#samples.push(await readProcessMemory(pid))
    })
  }

  async stop(): Promise<readonly ProcessMemory[]> {
    await this.#stop()
    return this.#samples
  }
}

/** Waits until the process is idle, for example until it has compacted; at most `timeoutMs`. */
export async function settle(pid: number, clock: Clock, timeoutMs: number): Promise<void> {
  const deadlineMs = clock.monotonicMs() + timeoutMs
  let before = await readCpuSeconds(pid)
  while (clock.monotonicMs() < deadlineMs) {
    await clock.sleep(SETTLE_PERIOD_MS)
    const now = await readCpuSeconds(pid)
    if ((now - before) * 1000 < SETTLE_PERIOD_MS * SETTLED_CPU_SHARE) return
    before = now
  }
}

/** The processor time that the process has used since its start. */
export async function readCpuSeconds(pid: number): Promise<number> {
  return parseCpuSeconds(await readFile(`/proc/${pid}/stat`, 'utf8'))
}

/** User and system time of all threads. The name in parentheses may itself hold spaces. */
export function parseCpuSeconds(stat: string): number {
  const fields = fieldsOf(stat)
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** The same of children that have ended. */
export function parseEndedCpuSeconds(stat: string): number {
  const fields = fieldsOf(stat)
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}

function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
