// The documents that are being looked at, each by one task. A document that is touched again is looked at once more,
// unless its task has yet to read it.
//
// Invariants:
//   KT1  A key has at most one task. So what is known of its artifact from before is true when the new one is written.
//   KT2  A touch is done when its document was read after the touch, and what was made of it is in the store.

import { shownKey } from '../document/document-limits.ts'
import { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { Ending } from './ending.ts'
import { enrichmentBackoffMs } from './enrichment-backoff.ts'
import type { Lane } from './lane-queue.ts'
import type { WorkUnit } from './ordered-work.ts'

/** The keys in memory; others wait in the log and in the table. */
const KEYS_MAX: Readonly<Record<Lane, number>> = { write: 2048, walk: 2048 }

/** Why parked documents are tried again: the models answer again, or time has passed. */
export type Retry =
  | { readonly kind: 'recovered' }
  /** There is one round in a minute, from 0 on. */
  | { readonly kind: 'round'; readonly number: number }

/** One document to look at. */
export interface KeyTask {
  readonly key: Buffer
  readonly lane: Lane
  /** Whether a parked artifact of the same source is made again, and why. */
  readonly retry: Retry | undefined
  /** Called before each time that the document is read. */
  readonly onRead: () => void
}

/** Does what has to be done for a document; rejects with the reason of the end, or with what went wrong. */
export type DoTask = (task: KeyTask) => Promise<void>

interface Running {
  readonly covered: WorkUnit[]
  again: WorkUnit[]
}

/** What tasks work with. */
export interface KeyTasksOptions {
  readonly ending: Ending
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly indexId: string
}

/** Runs a task for each key that it is given (KT1, KT2). */
export class KeyTasks {
  readonly #with: KeyTasksOptions
  readonly #do: DoTask
  readonly #running = new Map<string, Running>()
  readonly #counts: Record<Lane, number> = { write: 0, walk: 0 }
  readonly #waiting: Record<Lane, (() => void) | undefined> = { write: undefined, walk: undefined }
  readonly #tasks = new Set<Promise<void>>()
  /** By the documents that failed last time. */
  readonly #errors = new Map<string, string>()

  constructor(options: KeyTasksOptions, work: DoTask) {
    this.#with = options
    this.#do = work
  }

  /** Documents with a task. */
  get count(): number {
    return this.#running.size
  }

  /** What goes wrong with a document at the moment; undefined if nothing does. */
  get error(): string | undefined {
    return this.#errors.values().next().value
  }

  /** Resolves when the lane takes another key. One caller waits for each lane. */
  async room(lane: Lane): Promise<void> {
    while (this.#counts[lane] >= KEYS_MAX[lane]) {
      await this.#with.ending.unlessOver((resolve) => {
        this.#waiting[lane] = resolve
      })
    }
  }

  /** A document was touched, or found by a walk; `unit` waits for it. */
  take(key: Buffer, lane: Lane, unit: WorkUnit): void {
    unit.add()
    const running = this.#running.get(nameOf(key))
    if (running === undefined) this.#start({ key, lane, retry: undefined }, [unit])
    else running.again.push(unit)
  }

  /** A parked document is tried again. One that has a task is looked at anyway. */
  retry(key: Buffer, retry: Retry): void {
    if (this.#running.has(nameOf(key))) return
    this.#start({ key, lane: 'walk', retry }, [])
  }

  /** Resolves when no task runs. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
  }

  #start(given: Omit<KeyTask, 'onRead'>, units: readonly WorkUnit[]): void {
    const { key, lane } = given
    const running: Running = { covered: [], again: [...units] }
    this.#running.set(nameOf(key), running)
    this.#counts[lane] += 1
    const task = this.#run({ ...given, onRead: () => cover(running) }, running).finally(() => {
      this.#tasks.delete(task)
      this.#running.delete(nameOf(key))
      this.#counts[lane] -= 1
      this.#waiting[lane]?.()
    })
    this.#tasks.add(task)
  }

  async #run(task: KeyTask, running: Running): Promise<void> {
    const { ending } = this.#with
    do {
      if (!(await this.#attempt(task))) return
      for (const unit of running.covered.splice(0)) unit.ended()
    } while (running.again.length > 0 && !ending.isOver)
  }

  /** False at the end. */
  async #attempt(task: KeyTask): Promise<boolean> {
    const { ending, clock, random, log, indexId } = this.#with
    for (let failures = 1; ; failures++) {
      try {
        await this.#do(task)
        this.#errors.delete(nameOf(task.key))
        return true
      } catch (error) {
        if (ending.isOver) return false
        if (error instanceof InvariantError) throw error
        const message = messageOf(error)
        this.#errors.set(nameOf(task.key), message)
        const key = shownKey(task.key.toString())
        log.warn('a document cannot be enriched', { indexId, key, error: message })
      }
      // An error that is nobody's answer, such as a store that cannot be read.
      const pauseMs = enrichmentBackoffMs(failures, random)
      await clock.sleep(pauseMs, ending.signal).catch(() => undefined)
    }
  }
}

function cover(running: Running): void {
  running.covered.push(...running.again.splice(0))
}

function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
