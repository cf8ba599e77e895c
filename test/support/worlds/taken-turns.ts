import { must } from '../../../lib/assert.ts'
import type { Random } from '../../../lib/random.ts'
import type {
  Commit,
  Coordination,
  CoordinationEvent,
  CoordinationListing,
} from '../../../node/coordination/coordination.ts'

/** One in so many steps is held up for as long as others may take to do all their work. */
const HELD_UP_ONE_IN = 8
const HELD_UP_MAX_STEPS = 60

interface Turn {
  readonly go: () => void
  /** Not before so many steps, unless nobody else has one to take. */
  readonly notBefore: number
}

/**
 * Lets several pieces of work take steps in an order by chance, one step at a time. With `holdsUp`, a piece may be held up
 * between two steps for so long that another one does all its work: an even chance at each step hardly ever shows that.
 */
export class TakenTurns {
  readonly #random: Random
  readonly #holdsUp: boolean
  readonly #waiting: Turn[] = []
  #running = 0
  #steps = 0

  constructor(random: Random, { holdsUp = false }: { readonly holdsUp?: boolean } = {}) {
    this.#random = random
    this.#holdsUp = holdsUp
  }

  /** Works, all from the beginning, until each has ended. */
  async all<Done>(works: readonly (() => Promise<Done>)[]): Promise<PromiseSettledResult<Done>[]> {
    this.#running = works.length
    const ended = works.map(async (work) => {
      try {
        return await work()
      } finally {
        this.#running -= 1
        this.#next()
      }
    })
    return Promise.allSettled(ended)
  }

  /** Before each step. */
  async take(): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const isHeldUp = this.#holdsUp && this.#random() * HELD_UP_ONE_IN < 1
    const steps = isHeldUp ? Math.floor(this.#random() * HELD_UP_MAX_STEPS) : 0
    this.#waiting.push({ go: turn.resolve, notBefore: this.#steps + steps })
    this.#running -= 1
    this.#next()
    await turn.promise
  }

  #next(): void {
    if (this.#running > 0 || this.#waiting.length === 0) return
    this.#steps += 1
    const due = this.#waiting.filter(({ notBefore }) => notBefore <= this.#steps)
    const from = due.length === 0 ? this.#waiting : due
    const turn = must(from[Math.floor(this.#random() * from.length)], 'one that waits')
    this.#waiting.splice(this.#waiting.indexOf(turn), 1)
    this.#running += 1
    turn.go()
  }
}

/** Each call of a store is a step. */
export class TurnedCoordination implements Coordination {
  readonly #inner: Coordination
  readonly #turns: TakenTurns

  constructor(inner: Coordination, turns: TakenTurns) {
    this.#inner = inner
    this.#turns = turns
  }

  get scope(): 'process' | 'cluster' {
    return this.#inner.scope
  }

  async get(key: string) {
    await this.#turns.take()
    return this.#inner.get(key)
  }

  async list(prefix: string): Promise<CoordinationListing> {
    await this.#turns.take()
    return this.#inner.list(prefix)
  }

  async commit(commit: Commit) {
    await this.#turns.take()
    return this.#inner.commit(commit)
  }

  watch(prefix: string, from: number, signal: AbortSignal): AsyncIterable<CoordinationEvent> {
    return this.#inner.watch(prefix, from, signal)
  }

  grantLease(ttlSeconds: number) {
    return this.#inner.grantLease(ttlSeconds)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
