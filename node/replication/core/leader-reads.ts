import type { NodeId } from './configuration.ts'
import type { FollowerProgress } from './follower-progress.ts'
import type { ReplicaContext } from './replica-context.ts'

/** Waits until all others of the in-sync set have answered a ping that was sent after it came. */
interface WaitingRead {
  readonly token: number
  readonly round: number
  readonly askedMs: number
}

type Followers = ReadonlyMap<NodeId, FollowerProgress>

/**
 * Reads that see every acknowledged write, because nobody else can have led when they were asked for.
 *
 * - With a running grant of every other member of the in-sync set, at once (R1).
 * - Otherwise, or if they have to hear of this node's hybrid time first, when all of them have answered a ping
 *   (R2); after a time it is refused.
 */
export class LeaderReads {
  readonly #with: ReplicaContext
  readonly #epoch: number
  #waiting: WaitingRead[] = []
  #round = 0

  constructor(context: ReplicaContext, epoch: number) {
    this.#with = context
    this.#epoch = epoch
  }

  /** Whether a read waits for answers. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  ask(token: number, others: Followers, isHeard: boolean): void {
    const { nowMs } = this.#with
    const isGranted = others.values().every(({ grantedUntilMs }) => grantedUntilMs > nowMs)
    const isEnough = isGranted && (!isHeard || others.size === 0)
    if (isEnough) return this.#with.emit({ kind: 'read', token })
    this.#round += 1
    this.#waiting.push({ token, round: this.#round, askedMs: nowMs })
    const ping = { kind: 'ping', epoch: this.#epoch, round: this.#round } as const
    for (const node of others.keys()) this.#with.send(node, ping)
  }

  /** Somebody answered. */
  settle(others: Followers): void {
    const confirmed = Math.min(...others.values().map(({ confirmedRound }) => confirmedRound))
    const settled = this.#waiting.filter(({ round }) => round <= confirmed)
    this.#waiting = this.#waiting.filter(({ round }) => round > confirmed)
    for (const { token } of settled) this.#with.emit({ kind: 'read', token })
  }

  expire(): void {
    const { nowMs, timing } = this.#with
    const isLate = ({ askedMs }: WaitingRead) => nowMs - askedMs > timing.readTimeoutMs
    const late = this.#waiting.filter(isLate)
    this.#waiting = this.#waiting.filter((read) => !isLate(read))
    for (const { token } of late) this.#with.emit({ kind: 'refuse_read', token })
  }

  refuseAll(): void {
    for (const { token } of this.#waiting.splice(0)) this.#with.emit({ kind: 'refuse_read', token })
  }
}
