// Coordination in etcd, for the nodes of a cluster.
//
// Invariants:
//   EC1  All reads are linearizable: they ask etcd's leader.
//   EC2  Commits run one at a time, so that each is settled before the next begins (commit-lane.ts).
//   EC3  No call takes longer than `callTimeoutMs`, and none is sent after that.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { EtcdFailure, errorOfFailure } from '../../../lib/etcd/etcd-failure.ts'
import type { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import type { ProtoWriter } from '../../../lib/etcd/proto-writer.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import type {
  Change,
  Commit,
  CommitOutcome,
  Condition,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from '../coordination.ts'
import { checkCommit, checkKey } from '../coordination.ts'
import { checkTtl } from '../lease.ts'
import type { Lease } from '../lease.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { CommitLane } from './commit-lane.ts'
import { rangeInTxn, rangeOf, revisionOf, storeOf, txnOf } from './etcd-answers.ts'
import type { StoredKey } from './etcd-answers.ts'
import type { EtcdLeases } from './etcd-leases.ts'
import type { EtcdMembers } from './etcd-members.ts'
import {
  compareEqual,
  deleteOp,
  putOp,
  rangeOp,
  rangeRequest,
  txnRequest,
} from './etcd-requests.ts'
import type { KeyRange } from './etcd-requests.ts'
import { EtcdWatch } from './etcd-watch.ts'

/** Commits are rare. A backlog of this length means that etcd has stopped. */
const COMMITS_WAITING_MAX = 1024
/** With the largest values, a page of this length stays below what a member's answer may hold. */
const PAGE_KEYS = 128
const SUCCESSOR = Buffer.of(0)

/** The parts of an open store. It owns them: `close` ends them all. */
export interface EtcdCoordinationParts {
  readonly members: EtcdMembers
  readonly keys: ClusterKeys
  readonly lane: CommitLane
  readonly leases: EtcdLeases
  readonly clock: Clock
  /** Aborted by `close`. */
  readonly closing: AbortController
}

/** The implementation of Coordination for a cluster. */
export class EtcdCoordination implements Coordination {
  readonly scope = 'cluster'
  readonly #parts: EtcdCoordinationParts
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: EtcdCoordinationParts) {
    this.#parts = parts
  }

  async get(key: string): Promise<CoordinationEntry | undefined> {
    this.#assertOpen()
    checkKey(key)
    const { keys, members } = this.#parts
    const request = rangeRequest({ key: keys.entry(key) })
    const [found] = rangeOf(await translated(members.call(request))).keys
    return found === undefined ? undefined : keys.entryOf(found)
  }

  async list(prefix: string): Promise<CoordinationListing> {
    this.#assertOpen()
    const range = this.#parts.keys.range(prefix)
    const deadlineMs = this.#parts.members.deadlineMs()
    for (;;) {
      try {
        return await this.#listOnce(range, deadlineMs)
      } catch (error) {
        if (!(error instanceof EtcdFailure)) throw error
        // A compaction has removed the state of the first page. Begin again with that of now.
        if (error.kind !== 'compacted') throw errorOfFailure(error)
      }
    }
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    this.#assertOpen()
    checkCommit(commit)
    if (commit.changes.length === 0) return this.#check(commit.when)
    if (this.#waiting >= COMMITS_WAITING_MAX) {
      throw new ServiceError('OVERLOADED', 'too many metadata changes wait; try again later')
    }
    const deadlineMs = this.#parts.members.deadlineMs()
    this.#waiting += 1
    const done = this.#tail.then(() => translated(this.#commitNow(commit, deadlineMs)))
    this.#tail = done.catch(() => undefined) // the caller gets the error; the next commit runs
    try {
      return await unlessAborted(done, this.#parts.closing.signal)
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
    const { members, keys, clock, closing } = this.#parts
    const ending = AbortSignal.any([signal, closing.signal])
    const options = { members, keys, clock, prefix, fromRevision, signal: ending }
    yield* new EtcdWatch(options).events()
    if (!signal.aborted) this.#assertOpen()
  }

  async grantLease(ttlSeconds: number): Promise<Lease> {
    this.#assertOpen()
    checkTtl(ttlSeconds)
    return await translated(this.#parts.leases.grant(ttlSeconds))
  }

  async close(): Promise<void> {
    const { closing } = this.#parts
    if (!closing.signal.aborted) closing.abort(closedError())
    await this.#tail
    await this.#parts.leases.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #listOnce(range: Required<KeyRange>, deadlineMs: number): Promise<CoordinationListing> {
    const { members, keys } = this.#parts
    const found: StoredKey[] = []
    let revision = 0
    let store = ''
    let rest = range
    for (;;) {
      const request = rangeRequest(rest, { limit: PAGE_KEYS, revision })
      const answer = await members.call(request, deadlineMs)
      const page = rangeOf(answer)
      found.push(...page.keys)
      if (revision === 0) {
        revision = revisionOf(answer)
        store = storeOf(answer)
      }
      const last = page.keys.at(-1)
      if (!page.hasMore || last === undefined) break
      rest = { key: Buffer.concat([last.key, SUCCESSOR]), end: range.end }
    }
    return { entries: found.map((each) => keys.entryOf(each)), revision, store }
  }

  /** Conditions alone change nothing, so that any member may be asked again. */
  async #check(when: readonly Condition[]): Promise<CommitOutcome> {
    const { members, keys } = this.#parts
    // A transaction without an operation would be answered from a member's own, older state.
    const anyKey = rangeOp({ key: keys.entry('') })
    const request = txnRequest({
      compare: this.#compares(when),
      success: [anyKey],
      failure: this.#reads(when),
    })
    const answer = await translated(members.call(request))
    const { succeeded, parts } = txnOf(answer)
    if (succeeded) return { kind: 'committed', revision: revisionOf(answer) }
    return { kind: 'conflict', entries: this.#entriesOf(parts) }
  }

  async #commitNow({ when, changes }: Commit, deadlineMs: number): Promise<CommitOutcome> {
    const outcome = await this.#parts.lane.run(
      {
        compare: this.#compares(when),
        success: changes.map((change) => this.#operationOf(change)),
        failure: this.#reads(when),
      },
      deadlineMs,
    )
    if (outcome.kind === 'committed') return outcome
    return { kind: 'conflict', entries: this.#entriesOf(outcome.parts) }
  }

  #compares(when: readonly Condition[]): readonly ProtoWriter[] {
    return when.map((condition) => {
      const key = this.#parts.keys.entry(condition.key)
      return 'modRevision' in condition
        ? compareEqual(key, 'modRevision', condition.modRevision)
        : compareEqual(key, 'createRevision', condition.createRevision)
    })
  }

  #reads(when: readonly Condition[]): readonly ProtoWriter[] {
    const unique = [...new Set(when.map(({ key }) => key))]
    return unique.map((key) => rangeOp({ key: this.#parts.keys.entry(key) }))
  }

  #operationOf(change: Change): ProtoWriter {
    const key = this.#parts.keys.entry(change.key)
    if (change.type === 'delete') return deleteOp(key)
    return putOp({ key, value: change.value, lease: BigInt(change.lease ?? 0) })
  }

  #entriesOf(parts: readonly ProtoMessage[]): readonly CoordinationEntry[] {
    return parts.flatMap(rangeInTxn).map((found) => this.#parts.keys.entryOf(found))
  }

  #assertOpen(): void {
    if (this.#parts.closing.signal.aborted) throw closedError()
  }
}

function closedError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the coordination store is closed')
}

/** The work, with the contract's errors instead of etcd's. */
async function translated<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    throw error instanceof EtcdFailure ? errorOfFailure(error) : error
  }
}
