import { messageOf, ServiceError } from '../../../lib/errors.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import type { NodeId } from '../../peer/peer.ts'
import { isRefused } from '../refusals.ts'
import type { Shard } from '../shard.ts'
import type { ShardId } from '../shard-id.ts'
import { ShardRefusal, type AnswerHead, type CallHead } from './wire/call-head.ts'

/** What this node has of a shard: by default the shard, which it leads. */
export interface ShardHere<Target = Shard> {
  readonly kind: 'here'
  readonly shard: Target
  readonly epoch: number
}

/** Another node leads the shard, or nobody that this node knows of. */
export interface NotHere {
  readonly kind: 'not-here'
  readonly leader: NodeId | undefined
  /** The newest epoch that this node knows of; 0: none. */
  readonly epoch: number
}

/** Finds what this node has of a shard at the moment. */
export type FindShard<Target = Shard> = (this: void, id: ShardId) => ShardHere<Target> | NotHere

/** The shards of a node, as other nodes' calls find them. */
export class ServedShards<Target = Shard> {
  readonly #find: FindShard<Target>
  readonly #hybridClock: HybridClock

  constructor(find: FindShard<Target>, hybridClock: HybridClock) {
    this.#find = find
    this.#hybridClock = hybridClock
  }

  /**
   * The shard that a call is for. Throws NOT_LEADER if this node does not lead it, or the caller knows of a
   * newer leadership, and UNAVAILABLE, of which nothing has happened, if the caller's clock is too far ahead.
   */
  admit({ shard: id, epoch, time }: CallHead, isTimed: boolean): ShardHere<Target> {
    const found = this.#find(id)
    if (found.kind === 'not-here') throw this.refusalOf(notHere(id), id)
    if (epoch > found.epoch) {
      const message = `shard ${id} is led here in epoch ${found.epoch}, and the caller knows ${epoch}`
      const leader = { node: undefined, epoch: found.epoch }
      throw new ShardRefusal('NOT_LEADER', message, { happened: 'nothing', leader })
    }
    this.#observe(time, isTimed)
    return found
  }

  /** What every answer begins with. */
  headOf({ epoch }: Pick<ShardHere, 'epoch'>): AnswerHead {
    return { time: this.#hybridClock.readPoint(), epoch }
  }

  /** What every refusal begins with. */
  get time(): AnswerHead['time'] {
    return this.#hybridClock.readPoint()
  }

  /** What the caller hears of an error. `id` is undefined if the call named no shard. */
  refusalOf(error: ServiceError, id: ShardId | undefined): ShardRefusal {
    if (error instanceof ShardRefusal) return error
    const happened = isRefused(error) ? 'nothing' : 'unknown'
    const leader = error.code === 'NOT_LEADER' && id !== undefined ? this.#leaderOf(id) : undefined
    return new ShardRefusal(error.code, error.message, { happened, leader })
  }

  #leaderOf(id: ShardId): { readonly node: NodeId | undefined; readonly epoch: number } {
    const found = this.#find(id)
    // A shard that refuses while it is found here has lost its leadership just now.
    const node = found.kind === 'not-here' ? found.leader : undefined
    return { node, epoch: found.epoch }
  }

  #observe(time: CallHead['time'], isTimed: boolean): void {
    try {
      this.#hybridClock.observe(time)
    } catch (error) {
      if (isTimed) throw new ShardRefusal('UNAVAILABLE', messageOf(error), { happened: 'nothing' })
    }
  }
}

function notHere(id: ShardId): ServiceError {
  return new ServiceError('NOT_LEADER', `this node does not lead shard ${id}`)
}
