// Coordination inside one process, in one KvStore with no other writer.
//
// Invariants:
//   ED1  Commits run one at a time: a condition is checked against the state that is changed.
//   ED2  The revision is written in the same batch as the changes that it numbers.
//   ED3  Events follow durability: a commit that may still be lost publishes no event.
//   ED4  A commit of stored and leased keys becomes visible at once: readers wait while it is written.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { KvOp, KvStore } from '../storage/kv-store.ts'
import { REVISION_KEY, encodeRevision } from './coordination-codec.ts'
import type {
  Change,
  Commit,
  CommitOutcome,
  Condition,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from './coordination.ts'
import { checkCommit, checkKey } from './coordination.ts'
import { EmbeddedEntries } from './embedded-entries.ts'
import { EmbeddedLeases } from './embedded-leases.ts'
import { EventHistory } from './event-history.ts'
import type { KeyedEvent } from './event-history.ts'
import { checkTtl } from './lease.ts'
import type { Lease, LeaseId } from './lease.ts'

/** Commits are rare here. A backlog of this length means that the disk has stopped. */
const COMMITS_WAITING_MAX = 1024

/** The implementation of Coordination for one process. */
export class EmbeddedCoordination implements Coordination {
  readonly scope = 'process'
  readonly #store: KvStore
  readonly #entries: EmbeddedEntries
  readonly #leases: EmbeddedLeases
  readonly #history: EventHistory
  readonly #closing = new AbortController()
  /** The last revision with published events. */
  #published: number
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /**
   * The write of a commit that changes leased keys, while it is under way. Readers look again after each wait and
   * read in the same turn, because the next such write may begin in any turn between (ED4).
   */
  #mixedWrite: Promise<unknown> | undefined

  /** Owns `store` from here on: `close` closes it. `clock` measures the leases. */
  constructor(store: KvStore, clock: Clock) {
    this.#store = store
    this.#entries = new EmbeddedEntries(store)
    this.#leases = new EmbeddedLeases({
      clock,
      closing: this.#closing.signal,
      deleteKeys: (id) => this.#inTurn(() => this.#deleteKeys(id)),
    })
    this.#published = this.#entries.revision
    this.#history = new EventHistory(this.#published)
  }

  async get(key: string): Promise<CoordinationEntry | undefined> {
    this.#assertOpen()
    checkKey(key)
    while (this.#mixedWrite !== undefined) await this.#mixedWrite
    return this.#entries.read(key)
  }

  async list(prefix: string): Promise<CoordinationListing> {
    this.#assertOpen()
    while (this.#mixedWrite !== undefined) await this.#mixedWrite
    return this.#entries.list(prefix)
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    this.#assertOpen()
    checkCommit(commit)
    if (this.#waiting >= COMMITS_WAITING_MAX) {
      throw new ServiceError('OVERLOADED', 'too many metadata changes wait; try again later')
    }
    this.#waiting += 1
    try {
      return await this.#inTurn(() => this.#commitNow(commit))
    } finally {
      this.#waiting -= 1
    }
  }

  async grantLease(ttlSeconds: number): Promise<Lease> {
    this.#assertOpen()
    checkTtl(ttlSeconds)
    return this.#leases.grant(ttlSeconds)
  }

  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<CoordinationEvent, void> {
    this.#assertOpen()
    const ending = AbortSignal.any([signal, this.#closing.signal])
    yield* this.#history.watch(prefix, fromRevision, ending)
    if (!signal.aborted) this.#assertOpen()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#tail
    await this.#store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Runs `task` after the commits and tasks before it. */
  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#tail.then(task)
    this.#tail = done.catch(() => undefined) // the caller gets the error; the next task runs
    return done
  }

  async #commitNow({ when, changes }: Commit): Promise<CommitOutcome> {
    if (!when.every((condition) => this.#holds(condition))) {
      return { kind: 'conflict', entries: this.#readAll(when.map(({ key }) => key)) }
    }
    this.#checkLeases(changes)
    const before = this.#catchUp()
    const effective = changes.filter(
      ({ type, key }) => type === 'put' || this.#entries.read(key) !== undefined,
    )
    if (effective.length === 0) return { kind: 'committed', revision: before }
    const writing = this.#write(effective, before + 1)
    const isMixed = effective.some((change) => this.#entries.touchesLease(change))
    if (isMixed) this.#mixedWrite = writing.catch(() => undefined) // the caller gets the error
    try {
      await writing
    } finally {
      this.#mixedWrite = undefined
    }
    return { kind: 'committed', revision: before + 1 }
  }

  async #write(changes: readonly Change[], revision: number): Promise<void> {
    const events = changes.map((change) => this.#eventOf(change, revision))
    const ops = changes.flatMap((change) => this.#entries.opsOf(change, revision))
    const numbered: KvOp = { type: 'put', key: REVISION_KEY, value: encodeRevision(revision) }
    await this.#store.write([...ops, numbered], { sync: true })
    for (const [index, event] of events.entries()) {
      this.#entries.settle(must(changes[index], 'the change of an event'), event)
    }
    this.#published = revision
    this.#history.add(events)
  }

  async #deleteKeys(lease: LeaseId): Promise<void> {
    const keys = this.#entries.keysOf(lease)
    if (keys.length === 0 || this.#closing.signal.aborted) return
    await this.#commitNow({ when: [], changes: keys.map((key) => ({ type: 'delete', key })) })
  }

  #holds(condition: Condition): boolean {
    const found = this.#entries.read(condition.key)
    return 'modRevision' in condition
      ? (found?.modRevision ?? 0) === condition.modRevision
      : (found?.createRevision ?? 0) === condition.createRevision
  }

  #checkLeases(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.type === 'delete' || change.lease === undefined) continue
      if (this.#leases.has(change.lease)) continue
      throw new ServiceError('NOT_FOUND', `the lease ${change.lease} of "${change.key}" is gone`)
    }
  }

  #eventOf(change: Change, revision: number): KeyedEvent {
    const { key } = change
    if (change.type === 'delete') return { revision, key, event: { kind: 'delete', key, revision } }
    const entry = this.#entries.entryAfter(change, revision)
    return { revision, key, event: { kind: 'put', entry } }
  }

  /** A failed commit may have been written, and its events are lost. So the watches must end. */
  #catchUp(): number {
    const stored = this.#entries.revision
    if (stored !== this.#published) {
      this.#published = stored
      this.#history.reset(stored)
    }
    return stored
  }

  #readAll(keys: readonly string[]): readonly CoordinationEntry[] {
    const unique = [...new Set(keys)]
    return unique.map((key) => this.#entries.read(key)).filter((entry) => entry !== undefined)
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new ServiceError('UNAVAILABLE', 'the coordination store is closed')
  }
}
