import type { LogId } from '../../journal/journal-format.ts'
import type { NodeId } from '../core/configuration.ts'
import type { Beat, BeatAnswer, BeatSession } from './beat-codec.ts'
import type { RestingLog } from './resting-log.ts'

/** A leader that has confirmed none of 4,096 ends begins again, so that the list stays short. */
const ENDED_MAX = 4096

/** What this node brings to the rests under one other node. */
export interface HeardRestsOptions {
  readonly leader: NodeId
  /** The life of this node. */
  readonly incarnation: number
  readonly find: (logId: LogId) => RestingLog | undefined
}

/**
 * The logs of this node that rest under the leaders of one other node.
 *
 * Invariants:
 *   HR1  Each end of a rest is in every answer until the leader's node confirms it.
 *   HR2  A rest that a beat accepts has all ends of the same answer behind it.
 */
export class HeardRests {
  readonly #with: HeardRestsOptions
  readonly #resting = new Map<LogId, RestingLog>()
  #leaderIncarnation = 0
  #session = 1
  #ended: LogId[] = []
  #endedThrough = 0
  #heardMs = -Infinity

  constructor(options: HeardRestsOptions) {
    this.#with = options
  }

  get restingCount(): number {
    return this.#resting.size
  }

  /** Answers what the leader's node has to know; undefined for a beat from an earlier life of it. */
  take(beat: Beat, nowMs: number): Omit<BeatAnswer, 'hybridTime'> | undefined {
    if (beat.incarnation < this.#leaderIncarnation) return undefined
    if (beat.incarnation > this.#leaderIncarnation || this.#ended.length > ENDED_MAX) this.#begin()
    this.#leaderIncarnation = beat.incarnation
    if (isSame(beat.session, this.#sessionId)) this.#forget(beat.endedKnown)
    this.#heardMs = nowMs
    const ended = this.#ended.slice()
    const endedThrough = this.#endedThrough
    const accepted = beat.offers.filter((offer) => this.#rest(offer)).map(({ logId }) => logId)
    return {
      kind: 'answer',
      leaderIncarnation: beat.incarnation,
      sentMs: beat.sentMs,
      session: this.#sessionId,
      endedThrough,
      ended,
      accepted,
    }
  }

  /** This node ends. */
  wakeAll(): void {
    for (const log of this.#resting.values()) log.leaderWoke()
    this.#resting.clear()
  }

  get #sessionId(): BeatSession {
    return { incarnation: this.#with.incarnation, number: this.#session }
  }

  #begin(): void {
    this.wakeAll()
    this.#session += 1
    this.#ended = []
    this.#endedThrough = 0
  }

  #forget(endedKnown: number): void {
    const unknown = Math.max(0, this.#endedThrough - endedKnown)
    if (unknown < this.#ended.length) this.#ended = this.#ended.slice(this.#ended.length - unknown)
  }

  #rest({ logId, rest }: Beat['offers'][number]): boolean {
    const { leader, find } = this.#with
    const log = find(logId)
    if (log === undefined) return false
    const heardMs = (): number => this.#heardMs
    const held = {
      get atMs() {
        return heardMs()
      },
      end: () => this.#end(logId, log),
    }
    if (!log.restUnder(leader, rest, held)) return false
    this.#resting.set(logId, log)
    return true
  }

  #end(logId: LogId, log: RestingLog): void {
    if (this.#resting.get(logId) !== log) return
    this.#resting.delete(logId)
    this.#ended.push(logId)
    this.#endedThrough += 1
  }
}

function isSame(a: BeatSession, b: BeatSession): boolean {
  return a.incarnation === b.incarnation && a.number === b.number
}
