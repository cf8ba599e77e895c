// Finds the leader of a shard, asks it, and asks again.
//
//   find ──leader──► ask ──answer──► done
//    ▲ │              ├──NOT_LEADER, or nothing happened──► find; at once if another leader is named
//    │ └─none─► pause ├──outcome unknown, repeatable──────► find
//    └───────────┘    └──outcome unknown, refusal─────────► reject
//
// Invariants:
//   SA1  A call that is not repeatable reaches at most one shard: it is made again only if nothing happened.
//   SA2  A call ends by its deadline, or when its signal aborts, whichever is first.

import { backoffDelayMs } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { TransportError } from '../../peer/peer.ts'
import type { ShardId } from '../shard-id.ts'
import type { ShardPlace, ShardPlaces } from './shard-places.ts'
import { ShardRefusal } from './wire/call-head.ts'

/** A leader hands over within tens of milliseconds: a longer pause would be most of what a client waits. */
const BACKOFF = { baseMs: 10, capMs: 100, retriesMax: Infinity } as const
/** Leaders that are asked one after the other without a pause: two nodes may name each other. */
const QUICK_MAX = 2

/** How long a call may take, and whether it may be made again. Times are monotonic. */
export interface CallLimits {
  readonly isRepeatable: boolean
  /** Infinity: as long as the signal lets it. */
  readonly deadlineMs: number
  readonly signal: AbortSignal | undefined
}

/** Asks one place. `timeoutMs` is the time that is left; undefined if there is no deadline. */
export type Attempt<Answer> = (place: ShardPlace, timeoutMs: number | undefined) => Promise<Answer>

/** What a caller of shards needs. */
export interface ShardCallerOptions {
  readonly places: ShardPlaces
  readonly clock: Clock
  readonly random: Random
  /** Whether a call is made once, and its caller looks for another way. Default: it is made again. */
  readonly isMadeOnce?: boolean
}

/** The calls of one shard. */
export class ShardCaller {
  readonly #id: ShardId
  readonly #options: ShardCallerOptions

  constructor(id: ShardId, options: ShardCallerOptions) {
    this.#id = id
    this.#options = options
  }

  /**
   * Rejects with the refusal of the shard, with the signal's reason, with NOT_LEADER if nothing happened
   * until the deadline, or with UNAVAILABLE if the outcome is unknown.
   */
  async call<Answer>(attempt: Attempt<Answer>, limits: CallLimits): Promise<Answer> {
    const trying = new Trying(this.#id)
    for (let quick = 0; ;) {
      limits.signal?.throwIfAborted()
      const place = await this.#find(trying, limits)
      if (this.#options.isMadeOnce === true) return this.#once(place, attempt, limits)
      if (place === undefined || trying.hasFailedAt(place) || quick === QUICK_MAX) {
        await this.#pause(trying, limits)
        quick = 0
        continue
      }
      quick += 1
      try {
        return await attempt(place, this.#leftMs(trying, limits))
      } catch (error) {
        this.#learn(error)
        trying.fail(place, error, limits)
      }
    }
  }

  async #once<Answer>(
    place: ShardPlace | undefined,
    attempt: Attempt<Answer>,
    limits: CallLimits,
  ): Promise<Answer> {
    if (place !== undefined) return attempt(place, this.#leftMs(new Trying(this.#id), limits))
    throw new ServiceError('UNAVAILABLE', 'the address of the node is not known')
  }

  async #find(trying: Trying, { signal }: CallLimits): Promise<ShardPlace | undefined> {
    try {
      const finding = this.#options.places.leaderOf(this.#id)
      return await (signal === undefined ? finding : unlessAborted(finding, signal))
    } catch (error) {
      signal?.throwIfAborted()
      trying.reason = messageOf(error)
      return undefined
    }
  }

  #learn(error: unknown): void {
    if (!(error instanceof ShardRefusal) || error.leader === undefined) return
    this.#options.places.hint(this.#id, error.leader.node, error.leader.epoch)
  }

  async #pause(trying: Trying, limits: CallLimits): Promise<void> {
    const { clock, random } = this.#options
    const leftMs = this.#leftMs(trying, limits)
    const delayMs = backoffDelayMs(BACKOFF, trying.pauses, random)
    await clock.sleep(Math.min(delayMs, leftMs ?? delayMs), limits.signal)
    trying.resume()
  }

  /** Throws when the deadline has passed. */
  #leftMs(trying: Trying, { deadlineMs }: CallLimits): number | undefined {
    if (deadlineMs === Infinity) return undefined
    const leftMs = deadlineMs - this.#options.clock.monotonicMs()
    if (leftMs <= 0) throw trying.gaveUp()
    return leftMs
  }
}

/** What one call has met so far. */
class Trying {
  readonly #id: ShardId
  #failed: ShardPlace | undefined
  #isUnknown = false
  reason = 'no leader of it is known'
  pauses = 0

  constructor(id: ShardId) {
    this.#id = id
  }

  hasFailedAt({ node, epoch }: ShardPlace): boolean {
    return this.#failed?.node === node && this.#failed.epoch === epoch
  }

  /** Throws what the caller is to hear, unless the call may be made again. */
  fail(place: ShardPlace, error: unknown, { isRepeatable }: CallLimits): void {
    const outcome = outcomeOf(error)
    // "Nothing happened" speaks of this try alone: an earlier one may have had its effect.
    if (this.#isUnknown && isRefusedWhole(error)) throw this.#unknown(error.message)
    if (outcome === 'final' || !isServiceError(error)) throw error
    if (outcome === 'late') throw this.#unknown(error.message)
    if (outcome === 'unknown') {
      this.#isUnknown = true
      if (!isRepeatable) throw this.#unknown(error.message)
    }
    this.reason = error.message
    this.#failed = place
  }

  /** Places that failed may be asked again. */
  resume(): void {
    this.pauses += 1
    this.#failed = undefined
  }

  gaveUp(): ServiceError {
    if (this.#isUnknown) return this.#unknown(this.reason)
    const message = `shard ${this.#id} could not be asked in time (${this.reason}); try again`
    return new ServiceError('NOT_LEADER', message)
  }

  #unknown(reason: string): ServiceError {
    const message = `shard ${this.#id} did not answer (${reason}); the outcome of the call is unknown`
    return new ServiceError('UNAVAILABLE', message)
  }
}

/**
 * What is to be done about a failure: `nothing` happened, or it is `unknown` what did; the deadline
 * passed (`late`); or the error is the answer (`final`).
 */
function outcomeOf(error: unknown): 'nothing' | 'unknown' | 'late' | 'final' {
  if (error instanceof ShardRefusal) return error.code === 'NOT_LEADER' ? 'nothing' : 'final'
  if (!(error instanceof TransportError)) {
    return isServiceError(error) && error.code === 'DEADLINE_EXCEEDED' ? 'late' : 'final'
  }
  if (error.code === 'UNAVAILABLE') return error.happened
  if (error.code !== 'DEADLINE_EXCEEDED') return 'final'
  return error.happened === 'nothing' ? 'nothing' : 'late'
}

/** Whether this attempt did nothing, and a further one would be refused again. */
function isRefusedWhole(error: unknown): error is ShardRefusal | TransportError {
  const isTry = error instanceof ShardRefusal || error instanceof TransportError
  return isTry && outcomeOf(error) === 'final' && error.happened === 'nothing'
}

/** Whether the node that answered has gone, or leads no more: another one can continue a scan. */
export function isLeaderLost(error: unknown): boolean {
  const outcome = outcomeOf(error)
  return outcome === 'nothing' || outcome === 'unknown'
}
