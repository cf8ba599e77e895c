import type { LogId } from '../../journal/journal-format.ts'
import type { NodeId } from '../core/configuration.ts'
import type { Rest } from '../core/rest.ts'
import type { Beat, BeatAnswer, BeatSession, RestOffer } from './beat-codec.ts'
import type { RestingLog } from './resting-log.ts'

/** More wait for the next beat, so that neither side works on one for long. */
const OFFERS_PER_BEAT_MAX = 1024
/** After four beats without an answer, the logs send heartbeats of their own again. */
const UNANSWERED_MAX = 4
const NO_SESSION: BeatSession = { incarnation: 0, number: 0 }

interface Offered {
  readonly log: RestingLog
  readonly rest: Rest
  readonly sentMs: number
}

/**
 * The logs that this node leads and one other node follows, as far as they rest there.
 *
 * Invariants:
 *   LR1  A log rests here only if it rests at the other node, or the next answer says that it does not: each
 *        answer has every end of a rest that this node has not confirmed.
 *   LR2  An answer counts for a log only if it rests after the ends of that answer.
 */
export class LedRests {
  readonly #node: NodeId
  #waiting = new Map<LogId, { readonly log: RestingLog; readonly rest: Rest }>()
  readonly #offered = new Map<LogId, Offered>()
  readonly #resting = new Map<LogId, RestingLog>()
  #session = NO_SESSION
  #endedKnown = 0
  #answeredMs = -Infinity
  #unanswered = 0

  constructor(node: NodeId) {
    this.#node = node
  }

  /** Whether a beat has something to say. */
  get isNeeded(): boolean {
    return this.#resting.size > 0 || this.#waiting.size > 0
  }

  get restingCount(): number {
    return this.#resting.size
  }

  offer(log: RestingLog, rest: Rest): void {
    this.#waiting.set(log.logId, { log, rest })
  }

  /** What the next beat says. */
  takeBeat(sentMs: number): Pick<Beat, 'session' | 'endedKnown' | 'offers'> {
    if (this.#unanswered >= UNANSWERED_MAX) this.wakeAll()
    this.#unanswered += 1
    const offers: RestOffer[] = []
    for (const [logId, { log, rest }] of this.#waiting) {
      if (offers.length === OFFERS_PER_BEAT_MAX) break
      this.#waiting.delete(logId)
      this.#offered.set(logId, { log, rest, sentMs })
      offers.push({ logId, rest })
    }
    return { session: this.#session, endedKnown: this.#endedKnown, offers }
  }

  take(answer: BeatAnswer): void {
    if (answer.sentMs <= this.#answeredMs) return // overtaken by a later one
    if (!isSame(answer.session, this.#session)) this.#begin(answer.session)
    this.#unanswered = 0
    this.#learnEnds(answer) // before the answer counts: LR2
    this.#answeredMs = answer.sentMs
    for (const logId of answer.accepted) this.#accepted(logId)
    for (const [logId, { sentMs }] of this.#offered) {
      if (sentMs <= answer.sentMs) this.#offered.delete(logId) // refused
    }
  }

  /** Ends all rests, because the other node does not answer or this one stops. */
  wakeAll(): void {
    this.#offered.clear()
    for (const log of this.#resting.values()) log.followerWoke(this.#node)
    this.#resting.clear()
  }

  #begin(session: BeatSession): void {
    const offered = [...this.#offered]
    this.wakeAll()
    for (const [logId, each] of offered) this.#offered.set(logId, each)
    this.#session = session
    this.#endedKnown = 0
  }

  #learnEnds({ ended, endedThrough }: BeatAnswer): void {
    if (endedThrough <= this.#endedKnown) return
    // The answer may repeat ends that are known. To wake a log once more costs one heartbeat.
    for (const logId of ended) this.#wake(logId)
    this.#endedKnown = endedThrough
  }

  #wake(logId: LogId): void {
    this.#resting.get(logId)?.followerWoke(this.#node)
    this.#resting.delete(logId)
  }

  #accepted(logId: LogId): void {
    const offered = this.#offered.get(logId)
    if (offered === undefined) return
    this.#offered.delete(logId)
    const { log, rest } = offered
    const answeredMs = (): number => this.#answeredMs
    const held = {
      get atMs() {
        return answeredMs()
      },
      end: () => {
        if (this.#resting.get(logId) === log) this.#resting.delete(logId)
      },
    }
    if (log.followerRests(this.#node, rest, held)) this.#resting.set(logId, log)
  }
}

function isSame(a: BeatSession, b: BeatSession): boolean {
  return a.incarnation === b.incarnation && a.number === b.number
}
