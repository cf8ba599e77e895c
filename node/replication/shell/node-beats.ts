// Heartbeats that all shards of two nodes share. A shard in which nothing happens rests: the beats of its
// leader's node stand for its heartbeats, and their answers for its acknowledgements and grants.
//
//   leader's log ──offer──► beat ──► follower's log has all? ──accepted──► both rest
//        ▲                                                                  │ anything happens
//        └──────── heartbeats of its own ◄──────────── ended ◄──────────────┘
//
// A beat and its answer have some 40 bytes, however many shards rest.

import type { Clock } from '../../../lib/clock.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { NodeId, ReplicaId } from '../core/configuration.ts'
import type { Rest } from '../core/rest.ts'
import {
  decodeBeat,
  encodeBeat,
  encodeBeatAnswer,
  type Beat,
  type BeatAnswer,
} from './beat-codec.ts'
import { HeardRests } from './heard-rests.ts'
import { LedRests } from './led-rests.ts'
import type { RestingLog, RestOffers } from './resting-log.ts'

/** Carries beats between nodes. They may be lost, and come in order. */
export interface BeatNetwork {
  sendBeat(to: NodeId, beat: Buffer): void
}

/** What the beats of a node work with. */
export interface NodeBeatsOptions {
  readonly self: ReplicaId
  readonly network: BeatNetwork
  readonly hybridClock: Pick<HybridClock, 'readPoint' | 'observe'>
  readonly clock: Clock
  /** The replica of a shard on this node. */
  readonly find: (logId: LogId) => RestingLog | undefined
}

/** Sends, answers and counts the beats of one node. */
export class NodeBeats implements RestOffers {
  readonly #with: NodeBeatsOptions
  readonly #led = new Map<NodeId, LedRests>()
  readonly #heard = new Map<NodeId, HeardRests>()
  readonly #toMeet = new Set<NodeId>()
  #isClosed = false

  constructor(options: NodeBeatsOptions) {
    this.#with = options
  }

  /** How many pairs of a log and a follower rest, at leaders of this node. */
  get restingCount(): number {
    return this.#led.values().reduce((sum, { restingCount }) => sum + restingCount, 0)
  }

  offer(to: NodeId, log: RestingLog, rest: Rest): void {
    this.#ledOf(to).offer(log, rest)
  }

  /**
   * The node shares a shard with this one. It gets the next beat whatever rests, so that both ways between the nodes
   * are open before one leads the other: the first message on a way is lost.
   */
  meet(node: NodeId): void {
    if (node === this.#with.self.node) return
    this.#ledOf(node)
    this.#toMeet.add(node)
  }

  /** Has to be called as often as a replica would send heartbeats. */
  beat(): void {
    const { self, hybridClock, clock, network } = this.#with
    const { incarnation } = self
    for (const [node, led] of this.#led) {
      if (!led.isNeeded && !this.#toMeet.has(node)) continue
      const sentMs = clock.monotonicMs()
      const hybridTime = hybridClock.readPoint()
      const beat = {
        kind: 'beat',
        incarnation,
        hybridTime,
        sentMs,
        ...led.takeBeat(sentMs),
      } as const
      network.sendBeat(node, encodeBeat(beat))
    }
    this.#toMeet.clear()
  }

  /** Throws INVALID_ARGUMENT for damaged bytes. */
  receive(from: NodeId, bytes: Buffer): void {
    if (this.#isClosed) return
    const message = decodeBeat(bytes)
    this.#with.hybridClock.observe(message.hybridTime)
    if (message.kind === 'beat') this.#answer(from, message)
    else this.#take(from, message)
  }

  /** All logs send heartbeats of their own again. No beat is answered any more, because the network may be closed. */
  close(): void {
    this.#isClosed = true
    for (const led of this.#led.values()) led.wakeAll()
    for (const heard of this.#heard.values()) heard.wakeAll()
  }

  #answer(from: NodeId, beat: Beat): void {
    const { clock, network, hybridClock } = this.#with
    const answer = this.#heardOf(from).take(beat, clock.monotonicMs())
    if (answer === undefined) return
    const hybridTime = hybridClock.readPoint()
    network.sendBeat(from, encodeBeatAnswer({ ...answer, hybridTime }))
  }

  /** An answer to a beat of an earlier life has times of another clock. */
  #take(from: NodeId, answer: BeatAnswer): void {
    if (answer.leaderIncarnation === this.#with.self.incarnation) this.#led.get(from)?.take(answer)
  }

  #ledOf(node: NodeId): LedRests {
    const known = this.#led.get(node) ?? new LedRests(node)
    this.#led.set(node, known)
    return known
  }

  #heardOf(leader: NodeId): HeardRests {
    const { self, find } = this.#with
    const { incarnation } = self
    const known = this.#heard.get(leader) ?? new HeardRests({ leader, incarnation, find })
    this.#heard.set(leader, known)
    return known
  }
}
