// The way of proposals to the disk. The log applies a proposal in memory, onto the open group. The journal
// takes the group when it is free. The log answers the proposals of a group when the group is committed:
// durable here if the shard has one replica, otherwise durable on all replicas that are in sync.
//
//   propose ─► queue ─► apply ─► open ─► taken by the journal ─committed─► answers; the store's feed
//
// Invariants:
//   G1  Proposals are applied in order, one at a time; their entries are taken in that order.
//   G2  No proposal is answered before its entry, and those of every proposal it saw, are committed.
//   G3  After a refusal by the journal everything that was applied and is not committed is refused as
//       well, and the memory is rebuilt from the store before anything is applied again.
//   G4  What is committed and not in the store yet is bounded; beyond that nothing more is applied.
//   G5  What the journal did not take, and what has no entry, leaves nothing behind when a leadership ends, so it
//       is refused. The answer of a taken group is what its entries become under the next leader.
//   G6  The open layer of the overlay has the effects of the open group's commands, and of no other: the journal may
//       take both between any two steps.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvariantError, must } from '../../lib/assert.ts'
import type { AdmitWrite } from '../storage/disk-guard.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import { isSliced, runSliced, SLICE_MS, type Sliced } from '../../lib/sliced.ts'
import type { AppendedEntry } from '../journal/batch-writer.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalSource } from '../journal/journal-source.ts'
import type { GroupFate } from '../replication/shell/deposed-groups.ts'
import type { ProposedCommand } from './apply/proposed-command.ts'
import { frees } from './command/command.ts'
import { PendingProposals } from './pending-proposals.ts'
import { Proposal, type ProposalOptions } from './proposal.ts'
import { ProposalGroup } from './proposal-group.ts'
import type { ShardId } from './shard-id.ts'
import type { Applied, ShardState } from './shard-state.ts'
import { closedError, StoreFeed } from './store-feed.ts'

const MIB = 1024 * 1024
/** The journal writes a taken group in one piece. A longer group would delay the other shards. */
const GROUP_BYTES_MAX = MIB
/** The limit of committed bytes that the store lacks. They cost memory, and time at the next start. */
const BACKLOG_BYTES_MAX = 16 * MIB

/**
 * What the log works with. It calls `journal` when entries are ready, and the journal calls
 * `take`.
 */
export interface ShardLogOptions {
  readonly id: ShardId
  readonly state: ShardState
  readonly journal: Pick<Journal, 'ready' | 'hurry'>
  readonly clock: Clock
  /** Throws what refuses the write now, such as DISK_FULL; then nothing has happened. */
  readonly admit: AdmitWrite
  /** Refuses everything until `resume`. Undefined: the log takes proposals at once. */
  readonly suspended?: ServiceError | undefined
}

/** The work that the log has accepted and not finished. */
export interface LogBacklog {
  /** Proposals without an answer, with their bytes below. */
  readonly proposals: number
  readonly proposedBytes: number
  /** Bytes that are committed and not in the store yet. */
  readonly unstoredBytes: number
}

/** What the proposals of a leader hear when its leadership ends. */
export interface Suspension {
  /** Nothing happened; also the refusal of what is proposed later. */
  readonly refusal: ServiceError
  /** The outcome is not known. */
  readonly unknown: ServiceError
  /** What becomes of the groups that were taken and are not committed, in order. */
  readonly fates: readonly Promise<GroupFate>[]
}

/** Puts proposals in order, applies them and answers each when its entry is committed (G1-G6). */
export class ShardLog implements JournalSource {
  readonly logId: ShardId
  readonly #with: ShardLogOptions
  readonly #feed: StoreFeed
  #queue: Proposal[] = []
  readonly #pending = new PendingProposals()
  #open: ProposalGroup | undefined
  /** The groups that were taken and are not committed, in order. */
  #taken: ProposalGroup[] = []
  #isAnnounced = false
  #isScheduled = false
  #isClosed = false
  /** The proposal that is being applied in slices. */
  #applying: Promise<void> | undefined
  /** Set when the journal has failed for good: every further proposal is refused with it. */
  #end: ServiceError | undefined
  /** Set while another replica leads: every proposal is refused with it. */
  #suspended: ServiceError | undefined
  /** Set from a refusal until the memory is rebuilt (G3). */
  #refusal: unknown
  #recovering: Promise<void> | undefined

  constructor(options: ShardLogOptions) {
    const { id, state, clock } = options
    this.logId = id
    this.#with = options
    this.#suspended = options.suspended
    this.#refusal = options.suspended
    this.#feed = new StoreFeed({ state, clock, onRoom: () => this.#schedule() })
  }

  /** Why the store refuses writes at the moment; undefined if it takes them. */
  get storeTrouble(): ServiceError | undefined {
    return this.#feed.trouble
  }

  /** The backlog at the moment. */
  get backlog(): LogBacklog {
    const { count: proposals, bytes: proposedBytes } = this.#pending
    return { proposals, proposedBytes, unstoredBytes: this.#feed.bytes }
  }

  get readyBytes(): number {
    return this.#open?.bytes ?? 0
  }

  get readyEntries(): number {
    return this.#open?.entries.length ?? 0
  }

  get companions(): Iterable<JournalSource> {
    return this.#open?.companions ?? []
  }

  /** Resolves when the command's outcome is committed. */
  propose(proposed: ProposedCommand, options: ProposalOptions): Promise<void> {
    const { bytes } = options
    const refusal = this.#refusalOf(proposed, bytes)
    if (refusal !== undefined) return Promise.reject(refusal)
    const proposal = new Proposal(proposed, options, this)
    this.#queue.push(proposal)
    this.#pending.begin(proposal)
    this.#schedule()
    return proposal.done
  }

  #refusalOf({ command }: ProposedCommand, bytes: number): unknown {
    if (this.#isClosed) return closedError()
    if (this.#end !== undefined) return this.#end
    if (this.#suspended !== undefined) return this.#suspended
    const overload = this.#pending.refusalOf(bytes)
    if (overload !== undefined) return overload
    const trouble = this.#feed.trouble
    if (trouble !== undefined) {
      return new ServiceError(trouble.code, trouble.message, { cause: trouble })
    }
    try {
      this.#with.admit(bytes, frees(command))
      return undefined
    } catch (error) {
      return error
    }
  }

  /**
   * Resolves when everything applied up to now is committed, or was refused and has left the memory.
   * Fails when nothing will be committed here any more, or not before the replica leads again.
   */
  async committed(): Promise<void> {
    await this.#applying
    this.#with.journal.hurry()
    await (this.#open ?? this.#taken.at(-1))?.ended()
    await this.#recovering
    const refusal = this.#end ?? this.#suspended
    if (refusal !== undefined) throw refusal
  }

  /**
   * Resolves when everything applied up to now is in the store, or was refused. Fails when the store
   * takes nothing.
   */
  async settled(): Promise<void> {
    await this.committed()
    await this.#feed.reached(this.#with.state.committedSequence)
  }

  /** Resolves when everything committed up to now is in the store. */
  async applied(): Promise<void> {
    await this.#feed.reached(this.#with.state.committedSequence)
  }

  /**
   * Another replica leads, or may. What the journal has taken is answered by its fate (G5), and everything else is
   * refused until `resume`. Resolves when the log writes the store no more, which does not wait for the fates.
   */
  async suspend(suspension: Suspension): Promise<void> {
    const { refusal, fates } = suspension
    this.#suspended = refusal
    this.#isAnnounced = false
    const [taken, open] = [this.#taken, this.#open]
    this.#taken = []
    this.#with.state.overlay.dropUncommitted()
    this.#refusal = refusal
    this.#open = undefined
    for (const [i, group] of taken.entries()) void this.#depose(group, fates[i], suspension)
    if (open !== undefined) this.#finish(open, (proposal) => proposal.reject(refusal))
    for (const proposal of this.#queue.splice(0)) this.#reject(proposal, refusal)
    await this.#applying
    await this.#recovering
    await this.#feed.reachedInTheEnd(this.#with.state.committedSequence)
  }

  /** G5. Nobody in this process waits for the group any more: the memory has dropped it. */
  async #depose(
    group: ProposalGroup,
    deciding: Promise<GroupFate> | undefined,
    { refusal, unknown }: Suspension,
  ): Promise<void> {
    for (const proposal of group.readers) this.#answer(proposal, () => proposal.reject(refusal))
    group.end()
    const fate = await deciding
    for (const proposal of group.proposals) {
      this.#answer(proposal, () => {
        if (fate === 'committed') proposal.resolve()
        else proposal.reject(fate === 'nothing' ? refusal : unknown)
      })
    }
  }

  /** This replica leads, and its store has every committed entry. Resolves when proposals are taken. */
  async resume(): Promise<void> {
    this.#suspended = undefined
    this.#recovering ??= this.#recover()
    await this.#recovering
    if (this.#end !== undefined) throw this.#end
  }

  /** Ends waits for shared writes: the journal and the store write what is ready at once. */
  hurry(): void {
    this.#with.journal.hurry()
    this.#feed.hurry()
  }

  /** Resolves when everything proposed up to now has been answered. */
  async idle(): Promise<void> {
    this.#with.journal.hurry()
    await this.#pending.idle()
  }

  /** Answers what was proposed, and carries what is durable into the store, if the store takes it. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.idle()
    await this.#feed.close()
  }

  take(): readonly AppendedEntry[] {
    this.#isAnnounced = false
    const group = this.#open ?? new ProposalGroup()
    this.#taken.push(group)
    this.#open = undefined
    this.#with.state.overlay.take()
    return group.entries
  }

  /** The group that was taken first is committed. */
  written(): void {
    const group = must(this.#taken.shift(), 'the group that was taken')
    this.#with.state.publish(group.applied)
    this.#feed.add(group.applied, group.bytes)
    this.#advance()
    this.#finish(group, (proposal) => proposal.resolve())
  }

  failed(error: ServiceError): void {
    this.#isAnnounced = false
    const groups = [...this.#taken, this.#open]
    this.#taken = []
    this.#with.state.overlay.dropUncommitted()
    // Only a refusal for lack of room leaves the journal unchanged. Other failures end the process.
    if (error.code !== 'DISK_FULL') this.#end = error
    this.#refuse(error, groups)
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
    if (this.#applying !== undefined || this.#refusal !== undefined) return
    const endMs = this.#with.clock.monotonicMs() + SLICE_MS
    let taken = 0
    for (const proposal of this.#queue) {
      if (!this.#mayApply(proposal)) {
        this.hurry()
        break
      }
      taken++
      this.#apply(proposal)
      if (this.#applying !== undefined || this.#refusal !== undefined) break
      if (this.#with.clock.monotonicMs() < endMs) continue
      void nextTurn().then(() => this.#advance())
      break
    }
    if (taken > 0) this.#queue = this.#queue.slice(taken)
    this.#announce()
  }

  #announce(): void {
    if (this.#open === undefined || this.#refusal !== undefined) return
    const { journal } = this.#with
    const { isAwaited } = this.#open
    if (!this.#isAnnounced) {
      this.#isAnnounced = true
      journal.ready(this, { isAwaited })
    } else if (isAwaited) {
      journal.hurry()
    }
  }

  #mayApply({ bytes }: Proposal): boolean {
    if (this.#feed.bytes > BACKLOG_BYTES_MAX) return false // G4
    return this.#open === undefined || this.#open.bytes + bytes <= GROUP_BYTES_MAX
  }

  #apply(proposal: Proposal): void {
    if (proposal.options.after?.some(({ isLost }) => isLost) === true) {
      const message = 'the prepares of this transaction were refused; try the write again'
      return this.#reject(proposal, new ServiceError('UNAVAILABLE', message))
    }
    try {
      const applied = this.#with.state.apply(proposal.proposed)
      if (isSliced(applied)) this.#applyInSteps(proposal, applied)
      else this.#join(proposal, applied)
    } catch (error) {
      this.#reject(proposal, error)
    }
  }

  #applyInSteps(proposal: Proposal, applying: Sliced<Applied>): void {
    const work = this.#joinAfter(proposal, applying)
    if (work.next().done !== true) this.#applying = this.#applySliced(proposal, work)
  }

  /** The command joins the open group in the step that shows its effects (G6). */
  *#joinAfter(proposal: Proposal, applying: Sliced<Applied>): Sliced<void> {
    const applied = yield* applying
    if (this.#refusal === undefined) {
      this.#join(proposal, applied)
    } else {
      // It has dropped the state that this command was applied onto, and nothing else was applied since (G3).
      this.#with.state.overlay.dropOpen()
      this.#reject(proposal, this.#refusal)
    }
  }

  async #applySliced(proposal: Proposal, work: Sliced<void>): Promise<void> {
    const { clock } = this.#with
    try {
      await runSliced(work, { clock })
      this.#applying = undefined
    } catch (error) {
      this.#applying = undefined
      this.#reject(proposal, error)
    }
    this.#advance()
  }

  /** A command without a change waits until the effects that it saw are committed (G2). */
  #join(proposal: Proposal, applied: Applied): void {
    proposal.options.onApplied?.(proposal)
    if (applied === undefined) {
      const seen = this.#open ?? this.#taken.at(-1)
      if (seen !== undefined) return seen.join(proposal)
      this.#pending.end(proposal)
      return proposal.resolve()
    }
    this.#open ??= new ProposalGroup()
    this.#open.add(proposal, applied)
  }

  #reject(proposal: Proposal, error: unknown): void {
    // Our own code is wrong, so the effects of the open group may be wrong too.
    if (error instanceof InvariantError && this.#refusal === undefined) {
      const open = this.#open
      this.#with.state.overlay.dropOpen()
      this.#refuse(error, [open])
    }
    this.#pending.end(proposal)
    proposal.reject(error)
  }

  #refuse(error: unknown, groups: readonly (ProposalGroup | undefined)[]): void {
    this.#refusal = error
    this.#open = undefined
    for (const group of groups) {
      if (group !== undefined) this.#finish(group, (proposal) => proposal.reject(error))
    }
    for (const proposal of this.#queue.splice(0)) this.#reject(proposal, error)
    if (this.#end === undefined) this.#recovering ??= this.#recover()
  }

  /** G3. */
  async #recover(): Promise<void> {
    const { state } = this.#with
    try {
      await this.#applying
      await this.#taken.at(-1)?.ended()
      await this.#feed.reachedInTheEnd(state.committedSequence)
      await state.rebuild()
      this.#refusal = this.#suspended
    } catch (error) {
      this.#end = asServiceError(error) // the rebuild from the store failed
    }
    this.#recovering = undefined
    for (const proposal of this.#end === undefined ? [] : this.#queue.splice(0)) {
      this.#reject(proposal, this.#end)
    }
    this.#schedule()
  }

  #finish(group: ProposalGroup, answer: (proposal: Proposal) => void): void {
    for (const proposal of group.proposals) this.#answer(proposal, answer)
    for (const proposal of group.readers) this.#answer(proposal, answer)
    group.end()
  }

  #answer(proposal: Proposal, answer: (proposal: Proposal) => void): void {
    this.#pending.end(proposal)
    answer(proposal)
  }
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  return new ServiceError(
    'UNAVAILABLE',
    `the shard failed: ${messageOf(error)}; restart the node`,
    { cause: error },
  )
}
