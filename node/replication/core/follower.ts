import { must } from '../../../lib/assert.ts'
import type { ClosedPoint } from './messages.ts'
import type { NodeId } from './configuration.ts'
import type { EntryInfo, LogPosition } from './log-index.ts'
import type { AppendMessage, RefusedMessage } from './messages.ts'
import type { ReplicaContext } from './replica-context.ts'

/** An append whose entries are on their way to the disk. */
interface Unacknowledged {
  readonly through: number
  readonly sentMs: number
  readonly logEnd: number
}

/**
 * Makes its log that of one leader of one epoch.
 *
 * Invariants:
 *   F1  `matched` is only ever reached by entries chained to one that both logs have (INV-R3).
 *   F2  What it reports as durable is on disk and equals the leader's log.
 *   F3  What proves that the leader's log is not the shard's stays: a follower that has committed entries which the leader
 *       lacks, or another entry of the same epoch, refuses that leader for good. It takes and acknowledges nothing.
 */
export class Follower {
  readonly epoch: number
  readonly leader: NodeId
  readonly #with: ReplicaContext
  /** Entries up to here are known to equal the leader's. */
  #matched = 0
  #unacknowledged: Unacknowledged[] = []
  /** As the leader said; this replica may not have all of it on disk. */
  #committed = 0
  #refusal: Omit<RefusedMessage, 'kind' | 'epoch'> | undefined

  constructor(context: ReplicaContext, { epoch, leader }: { epoch: number; leader: NodeId }) {
    this.#with = context
    this.epoch = epoch
    this.leader = leader
  }

  append(message: AppendMessage): void {
    const { log } = this.#with
    const { previous } = message
    if (this.#refusal !== undefined) return this.#sayRefusal()
    const entries = message.entries.filter(({ sequence }) => sequence > log.base.sequence)
    // A prefix that a snapshot took in is committed, so both have it; the entry at the base proves it.
    const joint = previous.sequence < log.base.sequence ? entryAt(message, log.base) : previous
    if (joint === undefined || !log.has(joint)) return this.#mismatch(previous)
    if (!this.#take(entries)) return
    const through = message.entries.at(-1)?.sequence ?? previous.sequence
    this.#matched = Math.max(this.#matched, through)
    this.#committed = Math.max(this.#committed, message.committed)
    if (message.closed !== undefined) this.#with.closed.note(message.closed)
    this.#commit()
    this.#acknowledge({ through, sentMs: message.sentMs, logEnd: message.logEnd })
  }

  /** CT1: it holds whatever this replica has of the log. */
  noteClosed(point: ClosedPoint): void {
    this.#with.closed.note(point)
  }

  /** More of the log is on disk. */
  durableMoved(): void {
    const { durable } = this.#with
    this.#commit()
    const done = this.#unacknowledged.filter(({ through }) => through <= durable)
    this.#unacknowledged = this.#unacknowledged.filter(({ through }) => through > durable)
    const newest = done.at(-1)
    if (newest !== undefined) this.#report(newest)
  }

  /** False when the leader was refused. */
  #take(entries: readonly EntryInfo[]): boolean {
    const { log } = this.#with
    const isNew = (entry: EntryInfo) => !log.has(entry)
    const fresh = entries.slice(firstIndex(entries, isNew))
    const [first] = fresh
    if (first === undefined) return true
    const own = log.positionAt(first.sequence)
    if (own?.epoch === first.epoch) return this.#refuseOther(own)
    const truncateAfter = own === undefined ? undefined : first.sequence - 1
    if (truncateAfter !== undefined) {
      const { committed } = this.#with
      if (truncateAfter < committed) {
        const reason = `its leader has another entry ${first.sequence}, and ${committed} is committed`
        return this.#refuse(this.#committedEnd(), reason)
      }
      this.#with.truncateAfter(truncateAfter)
    }
    for (const entry of fresh) log.append(entry)
    this.#with.emit({ kind: 'append', entries: fresh, truncateAfter })
    return true
  }

  #mismatch(previous: LogPosition): void {
    const { log } = this.#with
    const own = log.positionAt(previous.sequence)
    if (own !== undefined && own.epoch === previous.epoch && own.crc !== previous.crc) {
      this.#refuseOther(own)
      return
    }
    const hint = log.lastOfEpoch(previous.epoch, previous.sequence) ?? log.base
    this.#with.send(this.leader, { kind: 'mismatch', epoch: this.epoch, hint })
  }

  /** Two leaders had one epoch. If the own entry is committed, that of the leader cannot be the shard's. */
  #refuseOther(own: LogPosition): false {
    const isCommitted = own.sequence <= this.#with.committed
    const held = isCommitted ? this.#committedEnd() : { held: own, isCommitted }
    return this.#refuse(
      held,
      `entry ${own.sequence} of epoch ${own.epoch} differs from its leader's`,
    )
  }

  #committedEnd(): Omit<RefusedMessage, 'kind' | 'epoch'> {
    const { log, committed } = this.#with
    return { held: must(log.positionAt(committed), 'the last committed entry'), isCommitted: true }
  }

  /** F3. */
  #refuse(refusal: Omit<RefusedMessage, 'kind' | 'epoch'>, reason: string): false {
    this.#refusal = refusal
    this.#with.emit({ kind: 'refuse', reason })
    this.#sayRefusal()
    return false
  }

  #sayRefusal(): void {
    if (this.#refusal === undefined) return
    this.#with.send(this.leader, { kind: 'refused', epoch: this.epoch, ...this.#refusal })
  }

  #commit(): void {
    this.#with.commit(Math.min(this.#committed, this.#matched))
  }

  #acknowledge(appended: Unacknowledged): void {
    if (appended.through <= this.#with.durable) this.#report(appended)
    else this.#unacknowledged.push(appended)
  }

  #report({ sentMs, logEnd }: Unacknowledged): void {
    const { epoch } = this
    const durable = Math.min(this.#with.durable, this.#matched)
    this.#with.send(this.leader, { kind: 'appended', epoch, durable, sentMs, logEnd })
  }
}

function entryAt({ entries }: AppendMessage, { sequence }: LogPosition): LogPosition | undefined {
  return entries.find((entry) => entry.sequence === sequence)
}

function firstIndex<T>(values: readonly T[], test: (value: T) => boolean): number {
  const index = values.findIndex(test)
  return index === -1 ? values.length : index
}
