// The workers of a queue: they pass keys to the reconciler, and its outcomes and errors back to the queue.

import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { classifyError, retryAfterMsOf } from '../api/api-error.ts'
import type { ErrorClass } from '../api/api-error.ts'
import type { KeyedQueue } from './keyed-queue.ts'

/** An object that the API refuses needs another spec, whose change adds the key. This is the net below that. */
export const INVALID_RETRY_MS = 10 * 60_000

/** What a pass tells the queue. An error means "again, with back-off"; an outcome never does. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'requeue'; readonly afterMs: number; readonly reason: string }

/**
 * One short pass over one object. Contract:
 * - It reads what it needs: the key is all that it is told.
 * - It ends soon after `signal` aborts.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome>

/** What the workers work on, and how many they are. */
export interface WorkersOptions {
  readonly queue: KeyedQueue
  readonly workersMax: number
  readonly reconcile: Reconcile
  readonly clock: Clock
  readonly log: Log
}

/** How passes ended, for the metrics. */
export type PassResult = 'done' | 'requeue' | ErrorClass

/**
 * Contract:
 * - From `start` to `stop`, at most `workersMax` passes run, and each waiting key gets one.
 * - A pass that fails never ends a worker: the key waits for a retry by the class of its error.
 * - `stop` takes no more keys, waits for the passes under way, aborts those that last longer than `graceMs`, and resolves
 *   when all have ended or have ignored the abort for as long again.
 */
export class QueueWorkers {
  readonly #with: WorkersOptions
  readonly #results = new Map<PassResult, number>()
  readonly #passes = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #isTaking = false

  constructor(options: WorkersOptions) {
    this.#with = options
  }

  /** Ended passes by how they ended. */
  get results(): ReadonlyMap<PassResult, number> {
    return this.#results
  }

  start(): void {
    this.#isTaking = true
    this.#with.queue.whenWaiting(() => this.#takeAll())
  }

  async stop(graceMs: number): Promise<void> {
    this.#isTaking = false
    if (await this.#endWithin(graceMs)) return
    this.#with.log.warn('passes outlast the grace of an end', { passes: this.#passes.size })
    this.#abort.abort()
    await this.#endWithin(graceMs)
  }

  async #endWithin(ms: number): Promise<boolean> {
    const ended = Promise.all(this.#passes).then(() => true)
    return (await answerWithin(ended, { clock: this.#with.clock, ms })) === true
  }

  #takeAll(): void {
    const { queue, workersMax } = this.#with
    while (this.#isTaking && this.#passes.size < workersMax) {
      const key = queue.take()
      if (key === undefined) return queue.whenWaiting(() => this.#takeAll())
      const pass = this.#pass(key)
      this.#passes.add(pass)
      void pass.then(() => {
        this.#passes.delete(pass)
        this.#takeAll()
      })
    }
  }

  async #pass(key: string): Promise<void> {
    const { queue, reconcile } = this.#with
    try {
      this.#settle(key, await reconcile(key, this.#abort.signal))
    } catch (error) {
      this.#fail(key, error)
    } finally {
      queue.finish(key)
    }
  }

  #settle(key: string, outcome: Outcome): void {
    const { queue } = this.#with
    this.#count(outcome.kind)
    queue.forget(key)
    if (outcome.kind === 'requeue') queue.addAfter(key, outcome.afterMs)
  }

  #fail(key: string, error: unknown): void {
    const { queue, log } = this.#with
    const reaction = classifyError(error)
    this.#count(reaction)
    const fields = { key, reaction, error: messageOf(error) }
    switch (reaction) {
      case 'stopped':
      case 'not-leading':
        return
      case 'conflict':
      case 'expired':
        log.debug('pass met a newer object', fields)
        return queue.retryConflict(key)
      case 'invalid':
        log.warn('pass was refused by the API', fields)
        return queue.addAfter(key, INVALID_RETRY_MS)
      case 'absent':
      case 'forbidden':
      case 'throttled':
      case 'transient':
        log.warn('pass failed', fields)
        return queue.retry(key, retryAfterMsOf(error))
      case 'bug':
        log.error('pass failed unexpectedly', {
          ...fields,
          stack: error instanceof Error ? error.stack : undefined,
        })
        return queue.retry(key)
    }
  }

  #count(result: PassResult): void {
    this.#results.set(result, (this.#results.get(result) ?? 0) + 1)
  }
}
