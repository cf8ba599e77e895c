// How proposals reach the disk: whatever has gathered while the last group was being synced becomes
// the next group, applied in order of arrival and written as one atomic, synced batch.
//
//   propose ─► queue ─► apply in order ─► one synced write ─► publish in memory ─► answer
//
// Invariants:
//   G1  At most one group is being written; groups are written in the order of the proposals.
//   G2  No proposal is answered before its effects, and those of every proposal it saw, are durable.
//   G3  After a failed write the memory is rebuilt from the store before anything is applied again.

import { InvariantError } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

export const GROUP_PROPOSALS_MAX = 1024
export const GROUP_BYTES_MAX = 4 * 1024 * 1024
export const QUEUED_PROPOSALS_MAX = 16_384
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024

export interface Proposal<Command, Outcome> {
  readonly command: Command
  readonly bytes: number
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

/** What the owner of the state does for the queue. */
export interface GroupTarget<Command, Outcome> {
  /** Whether a group may go on behind this command. */
  endsGroup(command: Command): boolean
  beginGroup(): AppliedGroup<Command, Outcome>
  /** Whether the memory may no longer fit the store, although nothing was written since. */
  isStale(): boolean
  /** Rebuilds what is kept in memory from the store (G3); readers see it before or after. */
  recover(): Promise<void>
}

export interface AppliedGroup<Command, Outcome> {
  /** Applies one command. A thrown ServiceError refuses this command alone and changed nothing. */
  apply(command: Command): Outcome
  /** Writes all effects, synced. */
  write(): Promise<void>
  /** After `write`: lets memory follow. */
  publish(): void
}

export class GroupCommit<Command, Outcome> {
  readonly #target: GroupTarget<Command, Outcome>
  #queue: Proposal<Command, Outcome>[] = []
  #queuedBytes = 0
  #running: Promise<void> | undefined
  #closed = false
  #mustRecover = false
  #recovering: Promise<void> | undefined

  constructor(target: GroupTarget<Command, Outcome>) {
    this.#target = target
  }

  /** `bytes` is the command's rough size, for the bounds. */
  propose(command: Command, bytes: number): Promise<Outcome> {
    if (this.#closed) return Promise.reject(new ServiceError('UNAVAILABLE', 'the shard is closed'))
    if (
      this.#queue.length >= QUEUED_PROPOSALS_MAX ||
      (this.#queue.length > 0 && this.#queuedBytes + bytes > QUEUED_BYTES_MAX)
    ) {
      const message = 'too many writes are waiting for the disk; try again later'
      return Promise.reject(new ServiceError('OVERLOADED', message))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    this.#queue.push({ command, bytes, resolve, reject })
    this.#queuedBytes += bytes
    this.#running ??= this.#run()
    return promise
  }

  /** Resolves when everything applied up to now is durable, or has failed and left the memory. */
  async settled(): Promise<void> {
    await this.#writing
    if (this.#mustRecover || this.#target.isStale()) await this.#recover()
  }

  /** Resolves when everything proposed up to now has been answered. */
  async idle(): Promise<void> {
    await this.#running
  }

  #writing: Promise<void> | undefined

  get writing(): boolean {
    return this.#writing !== undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #run(): Promise<void> {
    await Promise.resolve() // lets the proposals of this turn of the event loop gather
    while (this.#queue.length > 0) {
      if (this.#mustRecover && !(await this.#tryRecover())) continue
      this.#writing = this.#commit(this.#takeGroup())
      await this.#writing
      this.#writing = undefined
    }
    this.#running = undefined
  }

  async #tryRecover(): Promise<boolean> {
    try {
      await this.#recover()
      return true
    } catch (error) {
      for (const proposal of this.#takeGroup()) proposal.reject(error)
      return false
    }
  }

  #recover(): Promise<void> {
    this.#recovering ??= this.#target
      .recover()
      .then(() => {
        this.#mustRecover = false
      })
      .finally(() => {
        this.#recovering = undefined
      })
    return this.#recovering
  }

  #takeGroup(): readonly Proposal<Command, Outcome>[] {
    let count = 0
    let bytes = 0
    let ending = false
    for (const { command, bytes: size } of this.#queue) {
      const ends = this.#target.endsGroup(command)
      if (count === GROUP_PROPOSALS_MAX || (count > 0 && bytes + size > GROUP_BYTES_MAX)) break
      if (ending && !ends) break
      ending = ends
      bytes += size
      count++
    }
    const group = this.#queue.slice(0, count)
    this.#queue = this.#queue.slice(count)
    this.#queuedBytes -= bytes
    return group
  }

  async #commit(proposals: readonly Proposal<Command, Outcome>[]): Promise<void> {
    const group = this.#target.beginGroup()
    const answers: (() => void)[] = []
    try {
      for (const proposal of proposals) answers.push(applyOne(group, proposal))
      await group.write()
      group.publish()
    } catch (error) {
      this.#mustRecover = true
      for (const proposal of proposals) proposal.reject(error)
      return
    }
    for (const answer of answers) answer()
  }
}

function applyOne<Command, Outcome>(
  group: AppliedGroup<Command, Outcome>,
  proposal: Proposal<Command, Outcome>,
): () => void {
  try {
    const outcome = group.apply(proposal.command)
    return () => proposal.resolve(outcome)
  } catch (error) {
    if (error instanceof InvariantError) throw error
    return () => proposal.reject(error)
  }
}
