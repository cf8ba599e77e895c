import type { LogIndex } from './log-index.ts'
import type { AppendedMessage } from './messages.ts'
import type { ReplicationTiming } from './timing.ts'

/** What a leader sends from. */
export interface Sender {
  readonly log: LogIndex
  readonly timing: ReplicationTiming
}

/** What a follower lacks of its leader's log. */
export interface ReplicaLag {
  /** Entries that are not on its disk. */
  readonly entries: number
  /** The time since it had all entries; 0 while it has them. */
  readonly ms: number
}

/** How far one follower is, as its leader knows it. */
export class FollowerProgress {
  /** The follower's life that answered last. Answers of an earlier life are ignored. */
  incarnation: number | undefined
  /** While false the leader looks for the entry that both have, and sends no entries. */
  isStreaming = false
  /** The first entry that was not sent. */
  next: number
  /** Entries up to here are on the follower's disk and equal the leader's. */
  matched = 0
  lastSentMs = -Infinity
  /** On the leader's clock, with the difference of clock rates taken off. */
  grantedUntilMs = -Infinity
  /** It has answered a message that the leader sent at this time, and so has heard the leader's hybrid time. */
  heardMs = -Infinity
  /** When it last had everything that the leader had. */
  caughtUpMs: number
  /** Grants of messages that were sent before this do not count: the machine slept since. */
  #grantsFromMs = -Infinity
  #unacknowledgedBytes = 0
  /** The first entry that was sent since it streams: those before it are not among the bytes. */
  #streamedFrom = 0
  #confirmedRound = 0
  #toldCommitted = -1

  constructor(next: number, nowMs: number) {
    this.next = next
    this.caughtUpMs = nowMs
  }

  get confirmedRound(): number {
    return this.#confirmedRound
  }

  /** A message says that entries up to here are committed; answers whether none before said so. */
  tell(committed: number): boolean {
    const isNews = committed > this.#toldCommitted
    this.#toldCommitted = committed
    return isNews
  }

  confirm(round: number): void {
    this.#confirmedRound = Math.max(this.#confirmedRound, round)
  }

  /** A restarted follower begins again: it has lost its memory, and its grants with it. */
  meet(incarnation: number, logEnd: number): void {
    if (this.incarnation === incarnation) return
    const isFirst = this.incarnation === undefined
    this.incarnation = incarnation
    // What it answers first is about the leader's first message, which it has to be compared with.
    if (isFirst) return
    this.matched = 0
    this.grantedUntilMs = -Infinity
    this.heardMs = -Infinity
    this.#confirmedRound = 0
    this.#toldCommitted = -1
    this.probeAfter(logEnd)
  }

  acknowledge({ durable, sentMs, logEnd }: AppendedMessage, { log, timing }: Sender): void {
    this.#grant(sentMs, timing)
    this.heardMs = Math.max(this.heardMs, sentMs)
    if (this.isStreaming) this.#unacknowledgedBytes -= this.#bytesReached(durable, log)
    this.matched = Math.max(this.matched, durable)
    if (durable >= logEnd) this.caughtUpMs = Math.max(this.caughtUpMs, sentMs)
    if (this.isStreaming) return
    this.isStreaming = true
    this.next = Math.max(this.next, durable + 1)
    this.#streamedFrom = this.next
  }

  /** Whether the follower has the whole log, and nothing is on its way to it. */
  hasAll({ last }: LogIndex): boolean {
    return this.isStreaming && this.matched === last.sequence && this.next === last.sequence + 1
  }

  /** It answered a beat of the leader's node, which stood for a heartbeat of this log. */
  answerBeat(sentMs: number, timing: ReplicationTiming): void {
    this.#grant(sentMs, timing)
    this.heardMs = Math.max(this.heardMs, sentMs)
    this.caughtUpMs = Math.max(this.caughtUpMs, sentMs)
    this.lastSentMs = Math.max(this.lastSentMs, sentMs)
  }

  /** The leader's clock may have stood still, so that its grants ended without its notice. */
  voidGrants(nowMs: number): void {
    this.grantedUntilMs = -Infinity
    this.#grantsFromMs = nowMs
  }

  #grant(sentMs: number, { grantMs, rateErrorRatio }: ReplicationTiming): void {
    if (sentMs < this.#grantsFromMs) return
    this.grantedUntilMs = Math.max(this.grantedUntilMs, sentMs + grantMs * (1 - 2 * rateErrorRatio))
  }

  /** The bytes of the streamed entries that this acknowledges. */
  #bytesReached(durable: number, log: LogIndex): number {
    const above = Math.max(this.matched, this.#streamedFrom - 1)
    return log.bytesBetween(above, Math.min(durable, this.next - 1))
  }

  /** Undefined while this life of the follower has not answered. */
  lag(logEnd: number, nowMs: number): ReplicaLag | undefined {
    if (this.incarnation === undefined) return undefined
    const entries = Math.max(0, logEnd - this.matched)
    const ms = entries === 0 ? 0 : Math.max(0, Math.round(nowMs - this.caughtUpMs))
    return { entries, ms }
  }

  /** Both may have the entry: look there next. */
  probeAfter(sequence: number): void {
    this.isStreaming = false
    this.next = sequence + 1
    this.#unacknowledgedBytes = 0
  }

  /**
   * The last entry of the next message, which counts as sent; undefined while the window is full or
   * nothing is left to send.
   */
  takeNext({ log, timing }: Sender): number | undefined {
    const last = log.last.sequence
    if (!this.isStreaming || this.next > last) return undefined
    if (this.next <= log.base.sequence) {
      this.isStreaming = false // the log has moved on: the next heartbeat finds out what is to be done
      return undefined
    }
    if (this.#unacknowledgedBytes >= timing.windowBytes) return undefined
    let bytes = 0
    let through = this.next - 1
    while (through < last) {
      const more = log.bytesAt(through + 1)
      if (bytes > 0 && bytes + more > timing.messageBytesMax) break
      bytes += more
      through++
    }
    this.#unacknowledgedBytes += bytes
    this.next = through + 1
    return through
  }
}
