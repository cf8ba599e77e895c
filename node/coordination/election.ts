// One leader among candidates, by keys of a coordination store. Each candidate has a key under the
// election's prefix, attached to its lease. The oldest key leads, and each candidate watches only the
// key before its own, so that the end of a leader wakes one candidate.
//
// Invariants:
//   LD1  The leader is the candidate whose key has the least create revision.
//   LD2  A create revision names one leadership, and a later leadership has a greater one.

import { ServiceError } from '../../lib/errors.ts'
import type { Change, Condition, Coordination, CoordinationEntry } from './coordination.ts'
import type { Lease } from './lease.ts'

/** Who takes part in an election. */
export interface Candidate {
  readonly lease: Lease
  /** What others read of the leader, such as its node and address. */
  readonly value: Uint8Array
}

/** Who leads, as any member sees it. The next moment somebody else may lead. */
export interface ElectedLeader {
  readonly value: Buffer
  /** The create revision of the leader's key: the greater one is the later leader. */
  readonly token: number
}

/**
 * A won election, as the winner has it.
 *
 * - `fence` is a condition for every commit that only the leader may make. It fails as soon as the
 *   leadership has ended, also when this process does not know that yet.
 * - `token` is the create revision of the leader's key, for fencing outside of the store.
 * - `lost` aborts when the lease is lost, the key is gone or the leader has resigned. It is a hint:
 *   only the fence is safe.
 * - `proclaim` changes the value, and fails with CONFLICT after the end of the leadership.
 * - `resign` ends the leadership at once. A later call changes nothing.
 */
export interface Leadership extends ElectedLeader {
  readonly fence: Condition
  readonly lost: AbortSignal
  proclaim(value: Uint8Array): Promise<void>
  resign(): Promise<void>
}

/**
 * Contract, checked over every Coordination by test/conformance/coordination-elections.ts:
 * - `campaign` resolves when the candidate leads. It rejects with the reason of `signal` or of the
 *   lost lease, and the candidate has withdrawn then, or its key goes with its lease.
 * - Candidates lead in the order of their campaigns. A lease stands for one candidate.
 * - `leader` answers who leads now, or undefined.
 * - `observe` yields the leader of now and every later change. It may skip a leader that was quickly
 *   replaced, and never yields an earlier one. It ends when `signal` aborts, and fails with
 *   UNAVAILABLE when the store cannot be asked.
 */
export class Election {
  readonly #coordination: Coordination
  readonly #prefix: string

  /** All candidates of an election name the same `prefix`, such as `/controller`. */
  constructor(coordination: Coordination, prefix: string) {
    this.#coordination = coordination
    this.#prefix = `${prefix}/`
  }

  async campaign({ lease, value }: Candidate, signal: AbortSignal): Promise<Leadership> {
    const either = AbortSignal.any([signal, lease.lost])
    either.throwIfAborted()
    const key = `${this.#prefix}${lease.id}`
    try {
      const own = await this.#register({ type: 'put', key, value, lease: lease.id })
      await this.#awaitTurn(own, either)
      return new WonLeadership(this.#coordination, own, lease)
    } catch (error) {
      // If the store is away, the key goes with the lease.
      await this.#withdraw(key).catch(() => undefined)
      throw either.aborted ? either.reason : error
    }
  }

  async leader(): Promise<ElectedLeader | undefined> {
    const { entries } = await this.#coordination.list(this.#prefix)
    return shownLeader(oldestOf(entries))
  }

  async *observe(signal: AbortSignal): AsyncGenerator<ElectedLeader | undefined, void> {
    let seen: number | undefined
    while (!signal.aborted) {
      const { entries, revision } = await this.#coordination.list(this.#prefix)
      const leading = oldestOf(entries)
      const current = leading?.modRevision ?? 0
      if (current !== seen) yield shownLeader(leading)
      seen = current
      await this.#nextEvent(this.#prefix, revision, signal)
    }
  }

  /** Puts the key of a candidate, or finds the one that an earlier call put. */
  async #register(put: Change & { type: 'put' }): Promise<CoordinationEntry> {
    const { key } = put
    const outcome = await this.#coordination.commit({
      when: [{ key, createRevision: 0 }],
      changes: [put],
    })
    const entry =
      outcome.kind === 'committed' ? await this.#coordination.get(key) : outcome.entries[0]
    if (entry !== undefined) return entry
    throw new ServiceError('UNAVAILABLE', `the candidate ${key} has lost its lease`)
  }

  async #awaitTurn(own: CoordinationEntry, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const { entries, revision } = await this.#coordination.list(this.#prefix)
      if (!entries.some(({ createRevision }) => createRevision === own.createRevision)) {
        throw new ServiceError('UNAVAILABLE', `the candidate ${own.key} has lost its lease`)
      }
      const before = entries.filter(({ createRevision }) => createRevision < own.createRevision)
      const last = before.toSorted(byAge).at(-1)
      if (last === undefined) return
      await this.#nextEvent(last.key, revision, signal)
    }
  }

  /** Resolves at the first event behind `revision`, or when the past is gone. */
  async #nextEvent(prefix: string, revision: number, signal: AbortSignal): Promise<void> {
    const watch = this.#coordination.watch(prefix, revision + 1, signal)
    const events = watch[Symbol.asyncIterator]()
    await events.next()
    await events.return?.()
  }

  async #withdraw(key: string): Promise<void> {
    await this.#coordination.commit({ when: [], changes: [{ type: 'delete', key }] })
  }
}

class WonLeadership implements Leadership {
  readonly token: number
  readonly fence: Condition
  readonly #coordination: Coordination
  readonly #entry: CoordinationEntry
  readonly #lease: Lease
  readonly #ended = new AbortController()
  #value: Buffer

  constructor(coordination: Coordination, entry: CoordinationEntry, lease: Lease) {
    this.#coordination = coordination
    this.#entry = entry
    this.#lease = lease
    this.#value = entry.value
    this.token = entry.createRevision
    this.fence = { key: entry.key, createRevision: entry.createRevision }
    if (lease.lost.aborted) this.#end(lease.lost.reason)
    lease.lost.addEventListener('abort', () => this.#end(lease.lost.reason), {
      once: true,
      signal: this.#ended.signal,
    })
    void this.#watchKey()
  }

  get value(): Buffer {
    return this.#value
  }

  get lost(): AbortSignal {
    return this.#ended.signal
  }

  async proclaim(value: Uint8Array): Promise<void> {
    const { key } = this.#entry
    const put: Change = { type: 'put', key, value, lease: this.#lease.id }
    const outcome = await this.#coordination.commit({ when: [this.fence], changes: [put] })
    if (outcome.kind === 'conflict') {
      throw new ServiceError('CONFLICT', `the leadership of ${key} has ended`)
    }
    this.#value = Buffer.from(value)
  }

  async resign(): Promise<void> {
    const { key } = this.#entry
    this.#end(new ServiceError('UNAVAILABLE', `the leader ${key} has resigned`))
    await this.#coordination.commit({ when: [this.fence], changes: [{ type: 'delete', key }] })
  }

  async #watchKey(): Promise<void> {
    try {
      let revision: number | undefined = this.token
      while (revision !== undefined) revision = await this.#followKey(revision)
    } catch (error) {
      this.#end(error)
    }
  }

  /** From where to follow the key again, or undefined when there is nothing more to follow. */
  async #followKey(revision: number): Promise<number | undefined> {
    const { key } = this.#entry
    const { signal } = this.#ended
    for await (const event of this.#coordination.watch(key, revision + 1, signal)) {
      if (event.kind === 'compacted') return this.#readKey()
      if (event.kind === 'delete' && event.key === key) this.#endWithKey()
    }
    return undefined
  }

  async #readKey(): Promise<number | undefined> {
    const { entries, revision } = await this.#coordination.list(this.#entry.key)
    if (entries.some(({ createRevision }) => createRevision === this.token)) return revision
    this.#endWithKey()
    return undefined
  }

  #endWithKey(): void {
    this.#end(new ServiceError('UNAVAILABLE', `the key ${this.#entry.key} of the leader is gone`))
  }

  #end(reason: unknown): void {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason)
  }
}

function byAge(one: CoordinationEntry, other: CoordinationEntry): number {
  return one.createRevision - other.createRevision
}

function oldestOf(entries: readonly CoordinationEntry[]): CoordinationEntry | undefined {
  return entries.toSorted(byAge)[0]
}

function shownLeader(entry: CoordinationEntry | undefined): ElectedLeader | undefined {
  return entry === undefined ? undefined : { value: entry.value, token: entry.createRevision }
}
