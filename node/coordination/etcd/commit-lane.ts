// Commits of one writer, one after the other, each applied at most once and settled when its answer
// is lost.
//
// The writer has a key of its own in etcd, its mark. Every commit compares the mark's revision and
// writes the commit's operation id into it, in the same transaction. So of all that the writer has
// under way at one revision of the mark, one transaction can win. When an answer is lost, a fence
// tries to win instead of the commit: if it does, the commit has not happened and never will; if it
// does not, the mark tells what did.
//
// Invariants:
//   CL1  Every write of the mark compares the revision that was read or written before.
//   CL2  No transaction begins while the outcome of the one before is unknown.
//   CL3  The mark is never deleted, so that no revision of it comes back.

import { ServiceError } from '../../../lib/errors.ts'
import { isUnanswered } from '../../../lib/etcd/etcd-failure.ts'
import { rangeInTxn, rangeOf, revisionOf, txnOf } from './etcd-answers.ts'
import type { StoredKey, TxnAnswer } from './etcd-answers.ts'
import type { EtcdMembers } from './etcd-members.ts'
import { compareEqual, putOp, rangeOp, rangeRequest, txnRequest } from './etcd-requests.ts'
import type { TxnParts } from './etcd-requests.ts'

/** Whose commits they are. */
export interface CommitLaneOptions {
  readonly members: EtcdMembers
  readonly mark: Buffer
  /** Unique for this process among all that ever write the mark. */
  readonly session: string
}

/** What became of a transaction that etcd has answered or the mark has settled. */
export type LaneOutcome =
  | { readonly kind: 'committed'; readonly revision: number }
  /** The compares did not hold. `parts` are the answers of the failure branch. */
  | { readonly kind: 'conflict'; readonly parts: TxnAnswer['parts'] }

/** A transaction of which nobody knows the outcome. */
interface Unsettled {
  readonly operation: string
  /** What the mark becomes instead. It stays the same for as long as the outcome is unknown. */
  readonly fence: string
  readonly markRevision: number
}

/** The way of commits to etcd. Its caller sends one at a time. */
export class CommitLane {
  readonly #members: EtcdMembers
  readonly #mark: Buffer
  readonly #session: string
  /** The mod revision of the mark; undefined until it was read. */
  #markRevision: number | undefined
  #unsettled: Unsettled | undefined
  #count = 0

  constructor({ members, mark, session }: CommitLaneOptions) {
    this.#members = members
    this.#mark = mark
    this.#session = session
  }

  /**
   * Runs a transaction with `compare`, `success` and `failure`, of which the failure branch only
   * reads. Rejects with an EtcdFailure: `unanswered` when the outcome is unknown at the deadline.
   */
  async run(parts: TxnParts, deadlineMs: number): Promise<LaneOutcome> {
    let markRevision = await this.#ready(deadlineMs)
    const operation = this.#nextId('o')
    for (;;) {
      const request = txnRequest(this.#guarded(parts, operation, markRevision))
      const attempt = this.#members.attemptUntil(deadlineMs)
      try {
        const answer = await this.#members.attempt(request, attempt)
        return this.#outcomeOf(txnOf(answer), revisionOf(answer))
      } catch (error) {
        if (!isUnanswered(error)) throw error
      }
      this.#unsettled = { operation, fence: this.#nextId('f'), markRevision }
      const found = await this.#settle(this.#unsettled, deadlineMs)
      if (found.isApplied) return { kind: 'committed', revision: found.markRevision }
      markRevision = found.markRevision
    }
  }

  /** The revision of the mark to compare with, when no earlier transaction is unsettled. */
  async #ready(deadlineMs: number): Promise<number> {
    if (this.#unsettled !== undefined) await this.#settle(this.#unsettled, deadlineMs)
    this.#markRevision ??= await this.#readMark(deadlineMs)
    return this.#markRevision
  }

  async #readMark(deadlineMs: number): Promise<number> {
    const answer = await this.#members.call(rangeRequest({ key: this.#mark }), deadlineMs)
    return rangeOf(answer).keys[0]?.modRevision ?? 0
  }

  #guarded(parts: TxnParts, operation: string, markRevision: number): TxnParts {
    const { compare = [], success = [], failure = [] } = parts
    return {
      compare: [compareEqual(this.#mark, 'modRevision', markRevision), ...compare],
      success: [putOp({ key: this.#mark, value: Buffer.from(operation) }), ...success],
      failure: [rangeOp({ key: this.#mark }), ...failure],
    }
  }

  #outcomeOf({ succeeded, parts: [first, ...parts] }: TxnAnswer, revision: number): LaneOutcome {
    if (succeeded) {
      this.#markRevision = revision
      return { kind: 'committed', revision }
    }
    const found = first === undefined ? 0 : (rangeInTxn(first)[0]?.modRevision ?? 0)
    if (found !== this.#markRevision) throw this.#usurped()
    return { kind: 'conflict', parts }
  }

  /** Asks until somebody answers, at the latest until the deadline. */
  async #settle(
    { operation, fence, markRevision }: Unsettled,
    deadlineMs: number,
  ): Promise<{ readonly isApplied: boolean; readonly markRevision: number }> {
    const request = txnRequest({
      compare: [compareEqual(this.#mark, 'modRevision', markRevision)],
      success: [putOp({ key: this.#mark, value: Buffer.from(fence) })],
      failure: [rangeOp({ key: this.#mark })],
    })
    const answer = await this.#members.call(request, deadlineMs)
    const { succeeded, parts } = txnOf(answer)
    const found = succeeded ? undefined : parts.flatMap(rangeInTxn)[0]
    const holder = succeeded ? fence : holderOf(found)
    if (holder !== operation && holder !== fence) throw this.#usurped()
    this.#unsettled = undefined
    this.#markRevision = found?.modRevision ?? revisionOf(answer)
    return { isApplied: holder === operation, markRevision: this.#markRevision }
  }

  #nextId(kind: 'o' | 'f'): string {
    this.#count += 1
    return `${kind}.${this.#session}.${this.#count}`
  }

  /** Somebody else has written the mark. The next commit begins with a new look at it. */
  #usurped(): ServiceError {
    this.#unsettled = undefined
    this.#markRevision = undefined
    return new ServiceError(
      'UNAVAILABLE',
      'another process writes to the cluster under the same id; the outcome of the commit is unknown',
    )
  }
}

function holderOf(mark: StoredKey | undefined): string | undefined {
  return mark?.value.toString()
}
