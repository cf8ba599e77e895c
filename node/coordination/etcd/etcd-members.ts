// The members of an etcd cluster as one: failover, deadlines, the token of the user.
//
// Invariants:
//   EM1  Each attempt ends within its time, whatever the network does.
//   EM2  `call` repeats what may be done twice. `attempt` sends once, or again only after an answer
//        which says that nothing happened.
//   EM3  An answer is never older than one that came before its request was sent.

import type { ChannelCredentials } from '@grpc/grpc-js'
import { backoffDelayMs } from '../../../lib/backoff.ts'
import type { BackoffPolicy } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { must } from '../../../lib/assert.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { EtcdFailure, isUnanswered, unanswered } from '../../../lib/etcd/etcd-failure.ts'
import type { EtcdMember, EtcdStream } from '../../../lib/etcd/etcd-member.ts'
import type { EtcdRequest } from '../../../lib/etcd/etcd-request.ts'
import type { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import type { Random } from '../../../lib/random.ts'
import { revisionOf, storeOf, tokenOf } from './etcd-answers.ts'
import { authenticateRequest } from './etcd-requests.ts'

/** Between two rounds over all members. */
const ROUNDS: BackoffPolicy = { baseMs: 25, capMs: 500, retriesMax: Infinity }
/** Reads of these calls are linearizable, and their answers say the revision. */
const NUMBERED = /^\/etcdserverpb\.KV\//

/** Whom etcd knows, if it asks for users. */
export interface EtcdUser {
  readonly name: string
  readonly password: string
}

/** How long etcd is waited for. */
export interface EtcdTiming {
  /** How long one member may take to answer. It covers an election of etcd's leader, about 1 s. */
  readonly attemptTimeoutMs: number
  /** How long a call may take over all attempts. */
  readonly callTimeoutMs: number
  /** A watch on which nothing has arrived for this time asks etcd for a sign of life. */
  readonly watchIdleMs: number
}

/** The members with what their calls need. */
export interface EtcdMembersOptions {
  readonly members: readonly EtcdMember[]
  readonly user: EtcdUser | undefined
  readonly timing: EtcdTiming
  readonly clock: Clock
  readonly random: Random
  /** Aborts when the store closes. */
  readonly closing: AbortSignal
}

/** How long one attempt may take, and what ends it early. */
export interface Attempt {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** All calls reject with an EtcdFailure, or UNAVAILABLE after the close. */
export class EtcdMembers {
  readonly #options: EtcdMembersOptions
  #user: EtcdUser | undefined
  #current: number
  #token: Promise<string> | undefined
  #revision = 0
  /** The id of etcd's cluster; undefined before the first answer. */
  #store: string | undefined

  constructor(options: EtcdMembersOptions) {
    this.#options = options
    this.#user = options.user
    this.#current = Math.floor(options.random() * options.members.length)
    options.closing.addEventListener('abort', () => this.#closeAll(), { once: true })
  }

  /** What proves this node to etcd from now on; credentials by member. */
  renew(credentials: readonly ChannelCredentials[], user: EtcdUser | undefined): void {
    for (const [i, member] of this.#options.members.entries()) {
      const own = credentials[i]
      if (own !== undefined) member.renew(own)
    }
    this.#user = user
    this.forgetToken()
  }

  get timing(): EtcdTiming {
    return this.#options.timing
  }

  /** A time of the monotonic clock by which a call that begins now must have ended. */
  deadlineMs(): number {
    return this.#options.clock.monotonicMs() + this.#options.timing.callTimeoutMs
  }

  /** What an attempt may take now. Throws `unanswered` at the deadline, when nothing may be sent. */
  attemptUntil(deadlineMs: number): Attempt {
    if (this.#isOver(deadlineMs)) {
      throw unanswered('there was no time left to ask')
    }
    const leftMs = deadlineMs - this.#options.clock.monotonicMs()
    return { timeoutMs: Math.min(leftMs, this.#options.timing.attemptTimeoutMs) }
  }

  /** Asks member after member until one answers. For what changes nothing, or harms nobody twice. */
  async call(request: EtcdRequest, deadlineMs = this.deadlineMs()): Promise<ProtoMessage> {
    for (let tries = 0; ; tries += 1) {
      const attempt = this.attemptUntil(deadlineMs)
      try {
        return await this.attempt(request, attempt)
      } catch (error) {
        if (!isUnanswered(error) || this.#isOver(deadlineMs)) throw error
      }
      await this.pauseAfter(tries, this.#options.closing)
    }
  }

  /** Sends to one member. When it does not answer, the next attempt is another member's. */
  async attempt(request: EtcdRequest, { timeoutMs, signal }: Attempt): Promise<ProtoMessage> {
    this.#assertOpen()
    const member = this.#member()
    const late = new AbortController()
    const { clock, closing } = this.#options
    const ending = AbortSignal.any([
      late.signal,
      closing,
      ...(signal === undefined ? [] : [signal]),
    ])
    const onLate = (): void => {
      late.abort(new Error(`no answer within ${Math.round(timeoutMs)} ms`))
    }
    try {
      const sending = this.#send(member, request, ending)
      return await prodWhenLate(sending, { clock, ms: timeoutMs, onLate })
    } catch (error) {
      this.#assertOpen()
      if (late.signal.aborted) member.reset()
      if (isUnanswered(error)) this.leave(member)
      throw error
    }
  }

  /** Opens a stream of the current member. */
  async stream(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly member: EtcdMember; readonly stream: EtcdStream }> {
    const member = this.#member()
    const token = await this.#tokenOf(member, signal)
    if (signal.aborted) throw unanswered('the stream is not wanted any more')
    return { member, stream: member.stream(path, { token, needsLeader: true }) }
  }

  /** Turns to the next member, unless another call has done so. */
  leave(member: EtcdMember): void {
    const { members } = this.#options
    if (this.#member() === member) this.#current = (this.#current + 1) % members.length
  }

  /** Makes the next call ask for another token. */
  forgetToken(): void {
    this.#token = undefined
  }

  /** Rests after a try with a number, if that was the last of a round over the members. */
  async pauseAfter(tries: number, signal: AbortSignal): Promise<void> {
    const { members, clock, random } = this.#options
    const round = Math.floor((tries + 1) / members.length)
    const isLast = (tries + 1) % members.length === 0
    if (!isLast) return
    const ms = backoffDelayMs(ROUNDS, round - 1, random)
    await clock.sleep(ms, signal).catch(() => undefined) // the caller looks at the signal
  }

  async #send(
    member: EtcdMember,
    request: EtcdRequest,
    signal: AbortSignal,
  ): Promise<ProtoMessage> {
    const revision = this.#revision
    const token = await this.#tokenOf(member, signal)
    try {
      const answer = await member.call(request, { token }, signal)
      if (NUMBERED.test(request.path)) this.#checkStore(answer, revision)
      return answer
    } catch (error) {
      const isStale = error instanceof EtcdFailure && error.kind === 'stale-token'
      if (!isStale || token === undefined) throw error
      this.forgetToken()
      const renewed = await this.#tokenOf(member, signal)
      return await member.call(request, { token: renewed }, signal)
    }
  }

  async #tokenOf(member: EtcdMember, signal: AbortSignal): Promise<string | undefined> {
    const user = this.#user
    if (user === undefined) return undefined
    this.#token ??= this.#authenticate(member, user, signal)
    return await this.#token
  }

  async #authenticate(member: EtcdMember, user: EtcdUser, signal: AbortSignal): Promise<string> {
    try {
      const request = authenticateRequest(user.name, user.password)
      return tokenOf(await member.call(request, { token: undefined }, signal))
    } catch (error) {
      this.forgetToken()
      throw error
    }
  }

  /** A store that was restored from a backup, or is another one, has forgotten commits. Nobody may build on it. */
  #checkStore(answer: ProtoMessage, seen: number): void {
    const revision = revisionOf(answer)
    if (revision < seen) throw wentBack(`went back from revision ${seen} to ${revision}`)
    const store = storeOf(answer)
    this.#store ??= store
    // Another store may be ahead: etcd's tools raise the revision at a restore, if they are told to.
    if (store !== this.#store) throw wentBack(`is the cluster ${store} and was ${this.#store}`)
    this.#revision = Math.max(this.#revision, revision)
  }

  #member(): EtcdMember {
    return must(this.#options.members[this.#current], 'an endpoint')
  }

  #isOver(deadlineMs: number): boolean {
    return this.#options.clock.monotonicMs() >= deadlineMs
  }

  #assertOpen(): void {
    if (!this.#options.closing.aborted) return
    throw new ServiceError('UNAVAILABLE', 'the coordination store is closed')
  }

  #closeAll(): void {
    for (const member of this.#options.members) member.reset()
  }
}

function wentBack(what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `etcd ${what}, as after the restore of a backup; stop the nodes and restore the cluster as a whole`,
  )
}
