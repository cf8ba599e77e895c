// The rests of one replica's log: as a leader with its followers, or as a follower.
//
// Invariants:
//   RS1  Before anything happens in the log, the core is told what beats have said, and the rests end that it
//        would make untrue. So the core never knows less than if each beat had been told to it at once.
//   RS2  A leader that sends a message to a follower of its own accord has ended the rest of that one.

import type { LogId } from '../../journal/journal-format.ts'
import type { NodeId } from '../core/configuration.ts'
import type { Input, ReplicaCore } from '../core/replica-core.ts'
import type { Rest } from '../core/rest.ts'
import type { HeldRest, RestingLog, RestOffers } from './resting-log.ts'

/** What the rests of a log work with. */
export interface LogRestsOptions {
  readonly logId: LogId
  readonly core: ReplicaCore
  /** Undefined: the log sends all heartbeats itself. */
  readonly offers: RestOffers | undefined
  /** Brings an input to the core, which answers no effects to it. */
  readonly tell: (input: Input) => void
}

interface FollowerRest {
  readonly held: HeldRest
  toldMs: number
}

/** A grant outlives three heartbeats. The answer to an offer comes before the second one is due. */
const OFFERS_PER_HEARTBEAT = 2

/** Inputs that change nothing in a log that rests. */
const QUIET: ReadonlySet<Input['kind']> = new Set([
  'read_asked',
  'closed',
  'ticked',
  'slept',
  'beat_heard',
  'beat_answered',
])

/** Contract: RestingLog. */
export class LogRests implements RestingLog {
  readonly logId: LogId
  readonly #with: LogRestsOptions
  readonly #followers = new Map<NodeId, FollowerRest>()
  /** How many offers each follower got since its last heartbeat. */
  readonly #offered = new Map<NodeId, number>()
  #leader: HeldRest | undefined

  constructor(options: LogRestsOptions) {
    this.logId = options.logId
    this.#with = options
  }

  /** Whether ticks would change nothing. */
  get isResting(): boolean {
    const { core } = this.#with
    if (core.needsTicks) return false
    if (core.isLeading) return this.#followers.size === core.followerCount
    return this.#leader !== undefined
  }

  /** RS1. Called before each input of the log. */
  before(input: Input): void {
    const { kind } = input
    const { core } = this.#with
    if (!core.isLeading) {
      if (!QUIET.has(kind) && !tellsClosed(input)) this.#wakeFromLeader()
      return
    }
    if (this.#followers.size === 0) return
    // What followers answer is about the time before the rest.
    if (QUIET.has(kind) || kind === 'received') this.#tellAnswers()
    else this.#wakeFollowers()
  }

  /** Called after each input of the log. */
  after(): void {
    if (this.#followers.size > 0 && !this.#with.core.isLeading) this.#wakeFollowers()
  }

  /** Whether an offer to rest takes the place of a heartbeat. Some are sent, because offers may be lost. */
  offersRest(to: NodeId): boolean {
    const { offers, core } = this.#with
    const rest = offers === undefined ? undefined : core.restOf(to)
    if (offers === undefined || rest === undefined) return false
    const count = this.#offered.get(to) ?? 0
    this.#offered.set(to, (count + 1) % (OFFERS_PER_HEARTBEAT + 1))
    if (count === OFFERS_PER_HEARTBEAT) return false
    offers.offer(to, this, rest)
    return true
  }

  /** RS2. */
  sends(to: NodeId): void {
    if (this.#followers.size > 0) this.#wakeFollower(to)
  }

  restUnder(leader: NodeId, rest: Rest, held: HeldRest): boolean {
    const { core, tell } = this.#with
    if (!core.mayRestUnder(leader, rest)) return false
    this.#leader = held
    tell({ kind: 'beat_heard', atMs: held.atMs })
    return true
  }

  followerRests(node: NodeId, offered: Rest, held: HeldRest): boolean {
    this.#offered.delete(node)
    const rest = this.#with.core.restOf(node)
    if (rest === undefined || !isSameRest(rest, offered)) return false
    this.#followers.set(node, { held, toldMs: -Infinity })
    return true
  }

  leaderWoke(): void {
    const held = this.#leader
    this.#leader = undefined
    if (held !== undefined) this.#with.tell({ kind: 'beat_heard', atMs: held.atMs })
  }

  followerWoke(node: NodeId): void {
    const rest = this.#followers.get(node)
    if (rest === undefined) return
    this.#tellAnswer(node, rest)
    this.#followers.delete(node)
  }

  close(): void {
    this.#wakeFromLeader()
    this.#wakeFollowers()
  }

  #wakeFromLeader(): void {
    const held = this.#leader
    this.leaderWoke()
    held?.end()
  }

  #wakeFollowers(): void {
    for (const node of this.#followers.keys()) this.#wakeFollower(node)
  }

  #wakeFollower(node: NodeId): void {
    const rest = this.#followers.get(node)
    this.followerWoke(node)
    rest?.held.end()
  }

  #tellAnswers(): void {
    for (const [node, rest] of this.#followers) this.#tellAnswer(node, rest)
  }

  #tellAnswer(node: NodeId, rest: FollowerRest): void {
    const { atMs } = rest.held
    if (atMs <= rest.toldMs) return
    rest.toldMs = atMs
    this.#with.tell({ kind: 'beat_answered', node, sentMs: atMs })
  }
}

function tellsClosed(input: Input): boolean {
  return input.kind === 'received' && input.message.kind === 'closed'
}

function isSameRest(a: Rest, b: Rest): boolean {
  return a.epoch === b.epoch && a.last.sequence === b.last.sequence && a.last.crc === b.last.crc
}
