// Coordination inside one process, in one KvStore with no other writer.
//
// Invariants:
//   E1  Commits run one at a time: a condition is checked against the state that is changed.
//   E2  The revision is written in the same batch as the changes that it numbers.
//   E3  Events follow durability: a commit that may still be lost publishes no event.

import { ServiceError } from '../../lib/errors.ts'
import type { KvOp, KvStore } from '../storage/kv-store.ts'
import {
  REVISION_KEY,
  decodeEntry,
  decodeRevision,
  encodeEntry,
  encodeRevision,
  entryKey,
  entryRange,
} from './coordination-codec.ts'
import type {
  Change,
  Commit,
  CommitOutcome,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from './coordination.ts'
import { checkCommit, checkKey } from './coordination.ts'
import { EventHistory } from './event-history.ts'
import type { KeyedEvent } from './event-history.ts'

/** Commits are rare here. A backlog of this length means that the disk has stopped. */
const COMMITS_WAITING_MAX = 1024

/** The implementation of Coordination for one process. */
export class EmbeddedCoordination implements Coordination {
  readonly scope = 'process'
  readonly #store: KvStore
  readonly #history: EventHistory
  readonly #closing = new AbortController()
  /** The last revision with published events. */
  #published: number
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** Owns `store` from here on: `close` closes it. */
  constructor(store: KvStore) {
    this.#store = store
    this.#published = decodeRevision(store.get(REVISION_KEY))
    this.#history = new EventHistory(this.#published)
  }

  async get(key: string): Promise<CoordinationEntry | undefined> {
    this.#assertOpen()
    checkKey(key)
    return this.#read(key)
  }

  async list(prefix: string): Promise<CoordinationListing> {
    this.#assertOpen()
    await using snapshot = this.#store.snapshot()
    const revision = decodeRevision(snapshot.get(REVISION_KEY))
    const pages = await Array.fromAsync(snapshot.pages(entryRange(prefix)))
    return { entries: pages.flat().map(decodeEntry), revision }
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    this.#assertOpen()
    checkCommit(commit)
    if (this.#waiting >= COMMITS_WAITING_MAX) {
      throw new ServiceError('OVERLOADED', 'too many metadata changes wait; try again later')
    }
    this.#waiting += 1
    const done = this.#tail.then(() => this.#commitNow(commit))
    this.#tail = done.catch(() => undefined) // the caller gets the error; the next commit runs
    try {
      return await done
    } finally {
      this.#waiting -= 1
    }
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

  async #commitNow({ when, changes }: Commit): Promise<CommitOutcome> {
    const holds = when.every(({ key, modRevision }) => {
      return (this.#read(key)?.modRevision ?? 0) === modRevision
    })
    if (!holds) return { kind: 'conflict', entries: this.#readAll(when.map(({ key }) => key)) }
    const before = this.#catchUp()
    const effective = changes.filter(
      ({ type, key }) => type === 'put' || this.#read(key) !== undefined,
    )
    if (effective.length === 0) return { kind: 'committed', revision: before }
    const revision = before + 1
    const ops = effective.map((change) => encodeChange(change, revision))
    const numbered: KvOp = { type: 'put', key: REVISION_KEY, value: encodeRevision(revision) }
    await this.#store.write([...ops, numbered], { sync: true })
    this.#published = revision
    this.#history.add(effective.map((change) => keyedEventOf(change, revision)))
    return { kind: 'committed', revision }
  }

  /** A failed commit may have been written, and its events are lost. So the watches must end. */
  #catchUp(): number {
    const stored = decodeRevision(this.#store.get(REVISION_KEY))
    if (stored !== this.#published) {
      this.#published = stored
      this.#history.reset(stored)
    }
    return stored
  }

  #read(key: string): CoordinationEntry | undefined {
    const stored = this.#store.get(entryKey(key))
    return stored === undefined ? undefined : decodeEntry([entryKey(key), stored])
  }

  #readAll(keys: readonly string[]): readonly CoordinationEntry[] {
    const unique = [...new Set(keys)]
    return unique.map((key) => this.#read(key)).filter((entry) => entry !== undefined)
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new ServiceError('UNAVAILABLE', 'the coordination store is closed')
  }
}

function encodeChange(change: Change, revision: number): KvOp {
  if (change.type === 'delete') return { type: 'del', key: entryKey(change.key) }
  return encodeEntry(change.key, change.value, revision)
}

function keyedEventOf(change: Change, revision: number): KeyedEvent {
  const { key } = change
  if (change.type === 'delete') return { revision, key, event: { kind: 'delete', key, revision } }
  const entry = { key, value: Buffer.from(change.value), modRevision: revision }
  return { revision, key, event: { kind: 'put', entry } }
}
