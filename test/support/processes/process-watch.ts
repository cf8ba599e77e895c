// What a running store says of itself: how long its event loop was held, and how much memory it took.

import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import type { StoreProcess } from './store-process.ts'

const HOLDS = 'quarry_event_loop_hold'
const SLICES = 'quarry_text_worker_slice'
const LONGEST = /^quarry_(?:event_loop_longest_hold|text_worker_longest_slice)_seconds\{.*$/gm
/** Makes the kernel forget the peak of a process: proc(5), clear_refs. */
const FORGET_PEAK = '5'

/** CPU time, or what of it was not collecting garbage. */
export type Measure = 'cpu' | 'work'

export interface Held {
  /** Turns of the event loop that took more than so many milliseconds, rounded to a bucket, by those. */
  readonly turnsOver: (ms: number, measure: Measure) => number
  /** Slices of text workers that took more. */
  readonly slicesOver: (ms: number, measure: Measure) => number
  /** By operation, work of the longest turn and slice since the start. */
  readonly longest: string
}

export class ProcessWatch {
  readonly #store: StoreProcess

  constructor(store: StoreProcess) {
    this.#store = store
  }

  async held(): Promise<Held> {
    const response = await fetch(`${this.#store.health}/metrics`)
    const text = await response.text()
    return {
      turnsOver: (ms, measure) => above(text, `${HOLDS}_${measure}_seconds`, ms),
      slicesOver: (ms, measure) => above(text, `${SLICES}_${measure}_seconds`, ms),
      longest: (text.match(LONGEST) ?? []).join('\n'),
    }
  }

  forgetPeak(): void {
    writeFileSync(`/proc/${this.#store.pid}/clear_refs`, FORGET_PEAK)
  }

  /** Since it was forgotten. */
  peakBytes(): number {
    const status = readFileSync(`/proc/${this.#store.pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }
}

/** The buckets end somewhere: of longer times, those over the longest bucket are counted, which is stricter. */
function above(text: string, name: string, ms: number): number {
  const bounds = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([\\d.]+)"\\} (\\d+)$`, 'gm'))]
  const within = bounds.find(([, bound]) => Number(bound) * 1000 >= ms) ?? bounds.at(-1)
  expect(within, `${name} has buckets`).to.be.an('array')
  return valueOf(text, `${name}_count`) - Number(within?.[2])
}

function valueOf(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  expect(line, name).to.be.a('string')
  return Number(line?.slice(name.length))
}
