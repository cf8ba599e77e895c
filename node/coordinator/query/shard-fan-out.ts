// Asks all shards of a table at once, and separates the shards that answer from those that fail.
//
// A refusal of the query itself, the deadline and a client that has gone end the whole query. Any
// other failure concerns one shard, and the result of the query names it.

import { isServiceError, type ErrorCode, type ServiceError } from '../../../lib/errors.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'

const ENDS_QUERY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
])

/** Asks the shards of one query. A shard that failed once is not asked again by `askAll`. */
export class ShardFanOut<Shard> {
  readonly total: number
  readonly #signal: AbortSignal
  readonly #failures = new Map<Shard, ServiceError>()
  #serving: readonly Shard[]

  /** When the signal aborts, the query rejects with its reason. */
  constructor(shards: readonly Shard[], signal: AbortSignal) {
    this.total = shards.length
    this.#serving = shards
    this.#signal = signal
  }

  /** The shards that failed, with the reason. */
  get failed(): ReadonlyMap<Shard, ServiceError> {
    return this.#failures
  }

  /** Shards that failed before are not asked again. Rejects when none is left. */
  async askAll<Answer>(ask: (shard: Shard) => Promise<Answer>): Promise<readonly Answer[]> {
    const settled = await Promise.allSettled(this.#serving.map((shard) => this.#askOne(shard, ask)))
    // An error of our own, or one that ends the query, comes before those of single shards.
    for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
    const answers = settled.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? (outcome.value ?? []) : [],
    )
    this.#serving = this.#serving.filter((shard) => !this.#failures.has(shard))
    const [first] = this.#failures.values()
    if (answers.length === 0 && first !== undefined) throw first
    return answers
  }

  /** Answers undefined if the shard failed, and without a promise if `act` does. */
  attempt<Answer>(
    shard: Shard,
    act: () => Answer | Promise<Answer>,
  ): Answer | undefined | Promise<Answer | undefined> {
    try {
      const answer = act()
      if (!(answer instanceof Promise)) return answer
      return this.#askOne(shard, () => answer).then((found) => found?.[0])
    } catch (error) {
      return this.#fail(shard, error)
    }
  }

  async #askOne<Answer>(
    shard: Shard,
    ask: (shard: Shard) => Promise<Answer>,
  ): Promise<readonly [Answer] | undefined> {
    try {
      return [await unlessAborted(ask(shard), this.#signal)]
    } catch (error) {
      return this.#fail(shard, error)
    }
  }

  /** Throws what ends the query. */
  #fail(shard: Shard, error: unknown): undefined {
    if (!isServiceError(error) || ENDS_QUERY.has(error.code)) throw error
    this.#failures.set(shard, error)
    return undefined
  }
}
