// One watch over broken connections: a stream of one member after the other, each from where the one
// before it ended.
//
// Invariants:
//   EW1  The buffer has every event of the range from the first revision on to `#nextRevision`, once.
//   EW2  Only whole revisions enter the buffer, so that a stream never begins in the middle of one.
//   EW3  A stream on which etcd gives no sign of life is left for another member's.

import { once } from 'node:events'
import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError, messageOf } from '../../../lib/errors.ts'
import { EtcdFailure, errorOfFailure } from '../../../lib/etcd/etcd-failure.ts'
import type { EtcdStream } from '../../../lib/etcd/etcd-member.ts'
import { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import type { CoordinationEvent } from '../coordination.ts'
import { WATCH_BUFFER_MAX } from '../coordination.ts'
import { WatchBuffer } from '../watch-buffer.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { watchOf } from './etcd-answers.ts'
import type { WatchAnswer } from './etcd-answers.ts'
import type { EtcdMembers } from './etcd-members.ts'
import { WATCH_PATH, watchCreateMessage, watchProgressMessage } from './etcd-requests.ts'

const PERMISSION_DENIED = /permission denied|invalid auth token/
/** A member may refuse a token that another one has just given. */
const REFUSALS_MAX = 3

type WatchedEvent = Exclude<CoordinationEvent, { kind: 'compacted' }>

/** What is watched, and until when. */
export interface EtcdWatchOptions {
  readonly members: EtcdMembers
  readonly keys: ClusterKeys
  readonly clock: Clock
  readonly prefix: string
  readonly fromRevision: number
  /** Ends the watch. */
  readonly signal: AbortSignal
}

/** The events of a prefix, by the contract of `Coordination.watch`. It is drained once. */
export class EtcdWatch {
  readonly #options: EtcdWatchOptions
  readonly #buffer = new WatchBuffer()
  readonly #ended = new AbortController()
  /** Events of revisions of which more fragments are to come. */
  #fragments: WatchedEvent[] = []
  #nextRevision: number
  /** Whether etcd has ended the stream's watch. */
  #isRefused = false
  #refusals = 0
  #failure: Error | undefined

  constructor(options: EtcdWatchOptions) {
    this.#options = options
    this.#nextRevision = options.fromRevision
  }

  async *events(): AsyncGenerator<CoordinationEvent, void> {
    const ending = AbortSignal.any([this.#options.signal, this.#ended.signal])
    const following = this.#follow(ending)
    try {
      yield* this.#buffer.drain(ending)
      if (this.#failure !== undefined) throw this.#failure
    } finally {
      this.#ended.abort()
      await following
    }
  }

  /** Follows the range until the watch ends. A failure that no other member can mend ends it. */
  async #follow(ending: AbortSignal): Promise<void> {
    const { members } = this.#options
    for (let tries = 0; !ending.aborted && !this.#buffer.isCompacted; tries += 1) {
      const before = this.#nextRevision
      try {
        await this.#followOne(ending)
      } catch (error) {
        this.#failure = failureOf(error)
        this.#ended.abort()
        return
      }
      if (this.#nextRevision > before) tries = 0
      await members.pauseAfter(tries, ending)
    }
  }

  /** Resolves when the stream has ended. */
  async #followOne(ending: AbortSignal): Promise<void> {
    const { members, keys, prefix } = this.#options
    const opened = await this.#open(ending)
    if (opened === undefined) return
    const { member, stream } = opened
    this.#fragments = []
    const over = new AbortController()
    const end = (): void => over.abort()
    stream.on('end', end).on('error', end)
    ending.addEventListener('abort', end, { once: true, signal: over.signal })
    stream.on('data', (message: Buffer) => this.#take(message, over))
    stream.write(watchCreateMessage(keys.range(prefix), this.#nextRevision))
    void this.#probe(stream, over)
    if (ending.aborted) over.abort()
    if (!over.signal.aborted) await once(over.signal, 'abort')
    stream.cancel()
    if (this.#failure !== undefined) throw this.#failure
    if (!ending.aborted) members.leave(member)
  }

  async #open(
    ending: AbortSignal,
  ): Promise<Awaited<ReturnType<EtcdMembers['stream']>> | undefined> {
    const { members, clock } = this.#options
    const late = new AbortController()
    try {
      const opening = members.stream(WATCH_PATH, AbortSignal.any([ending, late.signal]))
      const ms = members.timing.attemptTimeoutMs
      return await prodWhenLate(opening, { clock, ms, onLate: () => late.abort() })
    } catch (error) {
      if (error instanceof EtcdFailure && error.kind === 'unanswered') return undefined
      throw error
    }
  }

  /** Asks for a sign of life when nothing has arrived for a while, and ends a stream without one. */
  async #probe(stream: EtcdStream, over: AbortController): Promise<void> {
    const { clock, members } = this.#options
    const { watchIdleMs, attemptTimeoutMs } = members.timing
    let arrived = false
    let isAsked = true // the first sign is that the watch was created
    stream.on('data', () => {
      arrived = true
    })
    try {
      while (!over.signal.aborted) {
        arrived = false
        await clock.sleep(isAsked ? attemptTimeoutMs : watchIdleMs, over.signal)
        if (!arrived && isAsked) over.abort()
        else if (!arrived) stream.write(watchProgressMessage())
        isAsked = !arrived
      }
    } catch {
      // The stream has ended.
    }
  }

  #take(message: Buffer, over: AbortController): void {
    if (over.signal.aborted) return
    try {
      this.#takeAnswer(watchOf(new ProtoMessage(message)))
    } catch (error) {
      this.#failure = failureOf(error)
    }
    if (this.#failure !== undefined || this.#buffer.isCompacted || this.#isRefused) over.abort()
  }

  #takeAnswer(answer: WatchAnswer): void {
    this.#isRefused = answer.isCanceled
    if (answer.isCanceled) return this.#takeCancel(answer)
    for (const event of answer.events) this.#fragments.push(this.#eventOf(event))
    if (this.#fragments.length > WATCH_BUFFER_MAX) return this.#buffer.compact()
    if (answer.isFragment) return
    const last = this.#fragments.at(-1)
    if (last === undefined) return this.#takeProgress(answer)
    for (const event of this.#fragments) this.#buffer.offer(event)
    this.#fragments = []
    this.#nextRevision = revisionOfEvent(last) + 1
    this.#refusals = 0
  }

  /**
   * Of the messages without events, only a notification about this watch says how far it has come. An
   * answer about all watches may overtake their events.
   */
  #takeProgress({ isOwn, isCreated, revision }: WatchAnswer): void {
    if (isOwn && !isCreated) this.#nextRevision = Math.max(this.#nextRevision, revision + 1)
  }

  #takeCancel({ compactRevision, cancelReason }: WatchAnswer): void {
    if (compactRevision > 0) return this.#buffer.compact()
    if (!PERMISSION_DENIED.test(cancelReason)) return
    this.#options.members.forgetToken()
    this.#refusals += 1
    if (this.#refusals < REFUSALS_MAX) return
    this.#failure = new ServiceError('FORBIDDEN', `etcd refuses the watch: ${cancelReason}`)
  }

  #eventOf({ isDelete, stored }: WatchAnswer['events'][number]): WatchedEvent {
    const { keys } = this.#options
    if (!isDelete) return { kind: 'put', entry: keys.entryOf(stored) }
    return { kind: 'delete', key: keys.keyOf(stored.key), revision: stored.modRevision }
  }
}

function failureOf(error: unknown): Error {
  if (error instanceof EtcdFailure) return errorOfFailure(error)
  return error instanceof Error ? error : new Error(messageOf(error))
}

function revisionOfEvent(event: WatchedEvent): number {
  return event.kind === 'put' ? event.entry.modRevision : event.revision
}
