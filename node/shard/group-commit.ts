// How proposals reach the disk. A proposal is applied as soon as it may be, onto the group that is
// open; while one group is being synced the next one fills, and is written the moment the disk is free.
//
//   propose ─► queue ─► apply ─► open group ─► flying group: one atomic write ─► publish ─► answer
//
// Invariants:
//   G1  At most one group is being written; groups are applied and written in order of the proposals.
//   G2  No proposal is answered before its effects, and those of every proposal it saw, are written;
//       and synced, unless every command of its group is lazy. A later sync covers what is before it.
//   G3  After a failed write the open group, which was applied above it, is refused as well, and the
//       memory is rebuilt from the store before anything is applied again.
//   G4  Behind a command that ends its group nothing else is applied until that group is published.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvariantError } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

export const GROUP_PROPOSALS_MAX = 1024
/** A group is applied and handed to the store without a pause: larger ones would hold up readers. */
export const GROUP_BYTES_MAX = 1024 * 1024
/** Between applying and writing more than this, other work gets its turn. */
const TURN_BYTES = 128 * 1024
export const QUEUED_PROPOSALS_MAX = 16_384
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024

/** What the owner of the state does for the queue. */
export interface GroupTarget<Command, Outcome> {
  /** Whether a group may go on behind this command. */
  endsGroup(command: Command): boolean
  /** Whether nobody is hurt if the command is lost and found undone after a power failure. */
  isLazy(command: Command): boolean
  /** The new group sees the effects of the one that is being written. */
  beginGroup(): AppliedGroup<Command, Outcome>
  /** Whether the memory may no longer fit the store, although nothing was written since. */
  isStale(): boolean
  /** Rebuilds what is kept in memory from the store (G3); readers see it before or after. */
  recover(): Promise<void>
}

export interface AppliedGroup<Command, Outcome> {
  /** Applies one command. A thrown ServiceError refuses this command alone and changed nothing. */
  apply(command: Command): Outcome
  /** Writes all effects as one. */
  write(options: { readonly sync: boolean }): Promise<void>
  /** After `write`: lets memory follow. */
  publish(): void
}

interface Proposal<Command, Outcome> {
  readonly command: Command
  readonly bytes: number
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

interface Group<Command, Outcome> {
  readonly applied: AppliedGroup<Command, Outcome>
  readonly proposals: Proposal<Command, Outcome>[]
  readonly answers: (() => void)[]
  /** Resolves when the group was written, or has failed. */
  readonly done: PromiseWithResolvers<void>
  bytes: number
  ends: boolean
  sync: boolean
}

export class GroupCommit<Command, Outcome> {
  readonly #target: GroupTarget<Command, Outcome>
  #queue: Proposal<Command, Outcome>[] = []
  #pendingCount = 0
  #pendingBytes = 0
  #open: Group<Command, Outcome> | undefined
  #flying: Group<Command, Outcome> | undefined
  #isScheduled = false
  #isClosed = false
  #mustRecover = false
  #recovering: Promise<void> | undefined
  #idle: PromiseWithResolvers<void> | undefined

  constructor(target: GroupTarget<Command, Outcome>) {
    this.#target = target
  }

  /** `bytes` is the command's rough size, for the bounds. */
  propose(command: Command, bytes: number): Promise<Outcome> {
    if (this.#isClosed) {
      return Promise.reject(new ServiceError('UNAVAILABLE', 'the shard is closed'))
    }
    if (
      this.#pendingCount >= QUEUED_PROPOSALS_MAX ||
      (this.#pendingCount > 0 && this.#pendingBytes + bytes > QUEUED_BYTES_MAX)
    ) {
      const message = 'too many writes are waiting for the disk; try again later'
      return Promise.reject(new ServiceError('OVERLOADED', message))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    this.#queue.push({ command, bytes, resolve, reject })
    this.#pendingCount++
    this.#pendingBytes += bytes
    this.#schedule()
    return promise
  }

  /** Resolves when everything applied up to now is written, or has failed and left the memory. */
  async settled(): Promise<void> {
    await (this.#open ?? this.#flying)?.done.promise
    if (this.#mustRecover || this.#target.isStale()) await this.#recover()
  }

  /** Resolves when everything proposed up to now has been answered. */
  async idle(): Promise<void> {
    if (this.#pendingCount === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.idle()
  }

  /** Once for all proposals of this turn of the event loop. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#advance()
    })
  }

  #advance(): void {
    if (this.#mustRecover) {
      void this.#recoverThenAdvance()
      return
    }
    let taken = 0
    for (const proposal of this.#queue) {
      if (!this.#mayApply(proposal)) break
      taken++
      if (!this.#apply(proposal)) break
    }
    this.#queue = this.#queue.slice(taken)
    if (this.#mustRecover) void this.#recoverThenAdvance()
    else if (this.#flying === undefined && this.#open !== undefined) void this.#write(this.#open)
  }

  #mayApply({ command, bytes }: Proposal<Command, Outcome>): boolean {
    const open = this.#open
    const ends = this.#target.endsGroup(command)
    if (!ends && (open?.ends === true || this.#flying?.ends === true)) return false
    if (open === undefined) return true
    return open.proposals.length < GROUP_PROPOSALS_MAX && open.bytes + bytes <= GROUP_BYTES_MAX
  }

  /** False when a belief about our own code broke, and with it whatever the group has done so far. */
  #apply(proposal: Proposal<Command, Outcome>): boolean {
    this.#open ??= newGroup(this.#target.beginGroup())
    const group = this.#open
    const { command } = proposal
    group.proposals.push(proposal)
    group.bytes += proposal.bytes
    group.ends ||= this.#target.endsGroup(command)
    group.sync ||= !this.#target.isLazy(command)
    try {
      const outcome = group.applied.apply(command)
      group.answers.push(() => proposal.resolve(outcome))
    } catch (error) {
      if (error instanceof InvariantError) {
        this.#mustRecover = true
        this.#refuseOpen(error)
        return false
      }
      group.answers.push(() => proposal.reject(error))
    }
    return true
  }

  async #write(group: Group<Command, Outcome>): Promise<void> {
    this.#flying = group
    this.#open = undefined
    try {
      if (group.bytes > TURN_BYTES) await nextTurn()
      await group.applied.write({ sync: group.sync })
      group.applied.publish()
    } catch (error) {
      this.#mustRecover = true
      this.#flying = undefined
      this.#finish(group, () => group.proposals.forEach((proposal) => proposal.reject(error)))
      this.#refuseOpen(error)
      this.#schedule()
      return
    }
    this.#flying = undefined
    // The disk goes to work again before anybody is told.
    this.#advance()
    this.#finish(group, () => group.answers.forEach((answer) => answer()))
  }

  #refuseOpen(error: unknown): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.#finish(open, () => open.proposals.forEach((proposal) => proposal.reject(error)))
  }

  #finish(group: Group<Command, Outcome>, answer: () => void): void {
    this.#forgetPending(group.proposals.length, group.bytes)
    answer()
    group.done.resolve()
  }

  #forgetPending(count: number, bytes: number): void {
    this.#pendingCount -= count
    this.#pendingBytes -= bytes
    if (this.#pendingCount > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  async #recoverThenAdvance(): Promise<void> {
    try {
      await this.#recover()
    } catch (error) {
      const refused = this.#queue
      this.#queue = []
      this.#forgetPending(
        refused.length,
        refused.reduce((sum, { bytes }) => sum + bytes, 0),
      )
      for (const proposal of refused) proposal.reject(error)
      return
    }
    this.#advance()
  }

  #recover(): Promise<void> {
    this.#mustRecover = true // so that nothing is applied meanwhile
    this.#recovering ??= this.#recoverAlone().finally(() => {
      this.#recovering = undefined
    })
    return this.#recovering
  }

  async #recoverAlone(): Promise<void> {
    await this.#flying?.done.promise
    await this.#target.recover()
    this.#mustRecover = false
  }
}

function newGroup<Command, Outcome>(
  applied: AppliedGroup<Command, Outcome>,
): Group<Command, Outcome> {
  const done = Promise.withResolvers<void>()
  return { applied, proposals: [], answers: [], done, bytes: 0, ends: false, sync: false }
}
