// Asks all shards of a table at once, and separates the shards that answer from those that fail.
//
// A refusal of the query itself, the deadline and a client that has gone end the whole query. Any
// other failure concerns one shard, and the result of the query names it.

import { isServiceError, type ErrorCode, type ServiceError } from '../../../lib/errors.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import type { IndexClient, TogetherAnswer } from '../../index/host/index-client.ts'

const ENDS_QUERY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
])

/** One question to the shards of a query. */
export interface TogetherAsking<Shard, Answer> {
  /** Undefined for a shard that is asked alone. */
  indexOf(shard: Shard): IndexClient | undefined
  mayJoin(client: IndexClient, count: number): boolean
  /** Indexes of one worker. */
  askAll(clients: readonly IndexClient[]): Promise<TogetherAnswer<Answer>>
  ask(shard: Shard): Promise<Answer>
}

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
    return this.#answersOf(this.#serving.map((shard) => this.#askOne(shard, ask)))
  }

  /** As `askAll`, but one answer stands for all shards whose indexes a worker asks together, and that do not fail. */
  async askTogether<Answer>(asking: TogetherAsking<Shard, Answer>): Promise<readonly Answer[]> {
    const { alone, groups } = groupsOf(this.#serving, asking)
    return this.#answersOf([
      ...groups.map((group) => this.#askGroup(group, asking)),
      ...alone.map((shard) => this.#askOne(shard, (one) => asking.ask(one))),
    ])
  }

  async #answersOf<Answer>(
    asked: readonly Promise<readonly [Answer] | undefined>[],
  ): Promise<readonly Answer[]> {
    const settled = await Promise.allSettled(asked)
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

  async #askGroup<Answer>(
    group: ReadonlyMap<IndexClient, Shard>,
    asking: TogetherAsking<Shard, Answer>,
  ): Promise<readonly [Answer] | undefined> {
    try {
      const asked = asking.askAll([...group.keys()])
      const told = await unlessAborted(asked, this.#signal)
      for (const [client, shard] of group) {
        const refusal = told.refusalOf(client)
        if (refusal !== undefined) this.#fail(shard, refusal)
      }
      return told.answer === undefined ? undefined : [told.answer]
    } catch (error) {
      for (const shard of group.values()) this.#fail(shard, error)
      return undefined
    }
  }

  /** Throws what ends the query. */
  #fail(shard: Shard, error: unknown): undefined {
    if (!isServiceError(error) || ENDS_QUERY.has(error.code)) throw error
    this.#failures.set(shard, error)
    return undefined
  }
}

/** By worker, in the order of the shards. */
function groupsOf<Shard>(
  shards: readonly Shard[],
  asking: Pick<TogetherAsking<Shard, never>, 'indexOf' | 'mayJoin'>,
): {
  readonly alone: readonly Shard[]
  readonly groups: readonly ReadonlyMap<IndexClient, Shard>[]
} {
  if (shards.length < 2) return { alone: shards, groups: [] }
  const alone: Shard[] = []
  const byWorker = new Map<object, Map<IndexClient, Shard>>()
  for (const shard of shards) {
    const client = asking.indexOf(shard)
    if (client === undefined) {
      alone.push(shard)
      continue
    }
    const group = byWorker.get(client.worker) ?? new Map<IndexClient, Shard>()
    byWorker.set(client.worker, group)
    group.set(client, shard)
  }
  const groups = [...byWorker.values()]
  const isJoined = (group: ReadonlyMap<IndexClient, Shard>): boolean =>
    group
      .keys()
      .take(1)
      .some((client) => asking.mayJoin(client, group.size))
  alone.push(...groups.filter((group) => !isJoined(group)).flatMap((group) => [...group.values()]))
  return { alone, groups: groups.filter(isJoined) }
}
