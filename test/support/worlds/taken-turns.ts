import { must } from '../../../lib/assert.ts'
import type { Random } from '../../../lib/random.ts'
import type {
  Commit,
  Coordination,
  CoordinationEvent,
  CoordinationListing,
} from '../../../node/coordination/coordination.ts'

/** Lets several pieces of work take steps in an order by chance, one step at a time. */
export class TakenTurns {
  readonly #random: Random
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(random: Random) {
    this.#random = random
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
    this.#waiting.push(turn.resolve)
    this.#running -= 1
    this.#next()
    await turn.promise
  }

  #next(): void {
    if (this.#running > 0 || this.#waiting.length === 0) return
    const at = Math.floor(this.#random() * this.#waiting.length)
    const [go] = this.#waiting.splice(at, 1)
    this.#running += 1
    must(go, 'one that waits')()
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
