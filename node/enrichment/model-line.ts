// The way of documents to the models of one index, from all its shards on this node: full batches, several calls at
// once, and pauses while the provider does not answer.
//
//   place ─► make ─► queue ─► batch ─► call ─made or refused─► answer
//                      ▲                 │
//                      └─── once more ◄──┴─failed─► after ATTEMPTS_MAX: parked
//
// Invariants:
//   ML1  While the models are in trouble, one call tries after each pause, and no more than one batch waits here: others
//        are sent back ('later') to wait as keys.
//   ML2  A call carries what `Enrichment.batch` allows, and a document that has failed several times goes alone.
//   ML3  Everything that is queued has a place, so the count of sources in memory is bounded.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { Enrichment, Made } from './enrichment.ts'
import { LinePlaces } from './line-places.ts'
import { OrderQueue, type LineAnswer, type Order, type QueuedOrder } from './order-queue.ts'
import { ProviderTrouble, troubleKindOf, type Trouble } from './provider-trouble.ts'
import { ATTEMPTS_MAX, isAtFault, withFailure } from './tries.ts'

/** Enough that a provider is busy while the answers of another call are written. */
const CALLS_MAX = 4
/** Batches that are ready when a call ends. */
const BATCHES_READY = 2
/** How long a batch waits to be full: a moment for an idle provider, and longer for a busy one. */
const LINGER_MS = 3
const BUSY_LINGER_MS = 25

/** The parts of a line. It closes `enrichment`, and none of the others. */
export interface ModelLineOptions {
  readonly enrichment: Enrichment
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** What sources with files wait for. */
export interface Missing {
  readonly message: string
  /** Wall-clock time. */
  readonly sinceMs: number
}

interface Call {
  readonly orders: readonly QueuedOrder[]
  /** Whether it is the one that tries after a pause. */
  readonly isAttempt: boolean
  readonly stop: AbortController
}

/** Asks the models of one index (ML1-ML3). */
export class ModelLine {
  readonly enrichment: Enrichment
  readonly places: LinePlaces
  readonly #with: ModelLineOptions
  readonly #trouble: ProviderTrouble
  readonly #queue: OrderQueue
  readonly #stop = new AbortController()
  readonly #recovered = new Set<() => void>()
  readonly #calls = new Set<Promise<void>>()
  #isLingering = false
  /** In trouble: whether its pause is over. */
  #mayTry = false
  #answers = 0
  #missing: Missing | undefined

  constructor(options: ModelLineOptions) {
    const { enrichment, clock, random } = options
    this.#with = options
    this.enrichment = enrichment
    this.#trouble = new ProviderTrouble(clock, random)
    this.#queue = new OrderQueue(enrichment.batch)
    this.places = new LinePlaces(() => {
      const batches = this.trouble === undefined ? CALLS_MAX + BATCHES_READY : 1
      return batches * enrichment.batch.items
    })
  }

  get trouble(): Trouble | undefined {
    return this.#trouble.current
  }

  /** The summarizer, since it gave no good answer, and until it gives one. */
  get missing(): Missing | undefined {
    return this.#missing
  }

  /** Calls `listener` when the models answer after trouble. Returns its removal. */
  onRecovered(listener: () => void): () => void {
    this.#recovered.add(listener)
    return () => {
      this.#recovered.delete(listener)
    }
  }

  /** Called with a place. Rejects at the order's end alone, with its reason. */
  make({ source, tries, ending }: Order): Promise<LineAnswer> {
    return new Promise((resolve, reject) => {
      if (ending.isOver) return reject(ending.reason)
      const onEnd = (): void => {
        this.#queue.remove(order)
        reject(ending.reason)
      }
      const order: QueuedOrder = {
        source,
        tries,
        ending,
        sinceMs: this.#with.clock.monotonicMs(),
        answer: (answer) => {
          ending.remove(onEnd)
          resolve(answer)
        },
        fail: (reason) => {
          ending.remove(onEnd)
          reject(reason)
        },
      }
      ending.add(onEnd)
      this.#queue.add(order)
      this.#pump()
    })
  }

  /** Aborts all calls. Those who wait have to be gone before. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the index is closed on this node'))
    for (const order of this.#queue.takeBehind(0)) order.fail(this.#stop.signal.reason)
    await Promise.all(this.#calls)
    await this.enrichment.close()
  }

  #pump(): void {
    while (this.#queue.size > 0 && this.#mayCall) {
      const orders = this.#queue.take(this.#isDue)
      if (orders === undefined) return this.#linger()
      const call = { orders, isAttempt: this.trouble !== undefined, stop: new AbortController() }
      this.#mayTry = false
      const running = this.#call(call).finally(() => {
        this.#calls.delete(running)
        this.#pump()
      })
      this.#calls.add(running)
    }
  }

  get #mayCall(): boolean {
    if (this.#stop.signal.aborted) return false
    if (this.trouble !== undefined) return this.#calls.size === 0 && this.#mayTry
    return this.#calls.size < CALLS_MAX
  }

  get #isDue(): boolean {
    const waitedMs = this.#with.clock.monotonicMs() - (this.#queue.sinceMs ?? Infinity)
    return waitedMs >= (this.#calls.size === 0 ? LINGER_MS : BUSY_LINGER_MS)
  }

  /** Looks again in a moment. */
  #linger(): void {
    if (this.#isLingering) return
    this.#isLingering = true
    void this.#with.clock.sleep(LINGER_MS, this.#stop.signal).then(
      () => {
        this.#isLingering = false
        this.#pump()
      },
      () => undefined, // closed
    )
  }

  async #call({ orders, isAttempt, stop }: Call): Promise<void> {
    const watched = stopWhenAbandoned(orders, stop)
    const signal = AbortSignal.any([this.#stop.signal, stop.signal])
    try {
      const made = await this.enrichment.make(
        orders.map(({ source }) => source),
        { signal },
      )
      assert(made.length === orders.length, 'a model answers for each source')
      this.#succeeded(isAttempt)
      this.#noteMissing(made)
      for (const [i, order] of orders.entries()) {
        order.answer(answerOf(must(made[i], 'an answer for each'), order))
      }
    } catch (error) {
      if (signal.aborted) for (const order of orders) order.fail(signal.reason)
      else this.#failed(orders, error, isAttempt)
    } finally {
      watched()
      if (isAttempt && this.trouble !== undefined) this.#waitOut(this.trouble)
    }
  }

  #succeeded(isAttempt: boolean): void {
    this.#answers += 1
    // A call from before the trouble says nothing about its end.
    if (this.trouble !== undefined && !isAttempt) return
    if (!this.#trouble.ended()) return
    const { log, enrichment } = this.#with
    log.info('the model of an index answers again', { indexId: enrichment.index })
    this.places.give()
    for (const listener of this.#recovered) listener()
  }

  #failed(orders: readonly QueuedOrder[], error: unknown, isAttempt: boolean): void {
    const kind = troubleKindOf(error)
    const { log, enrichment } = this.#with
    const message = messageOf(error)
    const isFirst = this.trouble === undefined
    const trouble = this.#trouble.failed(error, isAttempt, this.#stop.signal)
    if (isFirst) {
      log.warn('the model of an index fails', { indexId: enrichment.index, error: message })
      this.#waitOut(trouble)
    }
    for (const order of orders) {
      order.tries = withFailure(order.tries, kind, this.#answers)
      if (order.ending.isOver) continue
      if (order.tries.attempts >= ATTEMPTS_MAX) order.answer(this.#givenUp(order, message))
      else this.#queue.add(order) // behind the others: this call may be the one at which the provider fails
    }
    // ML1
    for (const { answer, tries } of this.#queue.takeBehind(enrichment.batch.items)) {
      answer({ kind: 'later', tries })
    }
  }

  #givenUp({ tries }: QueuedOrder, message: string): LineAnswer {
    const kind = isAtFault(tries, this.#answers) ? 'refused' : 'unreachable'
    return { kind, attempts: tries.attempts, message }
  }

  #noteMissing(made: readonly Made[]): void {
    for (const one of made) {
      if (hasSummary(one)) this.#missing = undefined
      if (one.kind !== 'away' || one.part !== 'summarizer' || this.#missing) continue
      this.#missing = { message: one.message, sinceMs: this.#with.clock.nowMs() }
      const { log, enrichment } = this.#with
      log.warn('the summarizer of an index fails', {
        indexId: enrichment.index,
        error: one.message,
      })
    }
  }

  /** Lets one call try after the pause. */
  #waitOut({ pause }: Trouble): void {
    this.#mayTry = false
    void pause.then(
      () => {
        if (this.trouble?.pause !== pause) return
        this.#mayTry = true
        this.#pump()
      },
      () => undefined, // closed
    )
  }
}

function answerOf(made: Made, { tries }: QueuedOrder): LineAnswer {
  if (made.kind !== 'refused') return made
  return { kind: 'refused', attempts: tries.attempts + 1, message: made.message }
}

function hasSummary(made: Made): boolean {
  return made.kind === 'made' && made.artifact.texts?.summary !== undefined
}

/** Ends a call for whose results nobody waits any more. Returns what stops looking. */
function stopWhenAbandoned(orders: readonly QueuedOrder[], stop: AbortController): () => void {
  const endings = new Set(orders.map(({ ending }) => ending))
  const check = (): void => {
    if ([...endings].every(({ isOver }) => isOver)) stop.abort(orders[0]?.ending.reason)
  }
  for (const ending of endings) ending.add(check)
  return () => {
    for (const ending of endings) ending.remove(check)
  }
}
