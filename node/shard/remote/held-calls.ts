// Calls that came to the right node a little too early: it is named leader, and does not serve yet.
//
// Invariants:
//   HC1  A held call has reached no shard. It may be refused as if it had just come.
//   HC2  Number, bytes and time of held calls are bounded. A call beyond that is refused at once.

import type { Clock } from '../../../lib/clock.ts'
import type { PeerRequest } from '../../peer/peer.ts'
import type { ShardId } from '../shard-id.ts'
import type { CallHead } from './wire/call-head.ts'

/** Half of the calls that a connection brings at once, so that calls of other shards have places. */
const HELD_MAX = 256
const HELD_BYTES_MAX = 16 * 1024 * 1024
/** A hand-over takes some tens of milliseconds. A leader that was killed is replaced after seconds. */
const HOLD_MS_MAX = 1000

/**
 * Knows which shards this node is about to lead.
 *
 * Contract:
 * - `isComing` answers whether this node has a replica of the shard that is named leader and does not serve yet,
 *   or whose caller knows of a newer leadership than this node, and so may know that.
 * - `onChange` calls `listener` after each change of that answer, and perhaps more often. It returns how to stop.
 */
export interface ComingShards {
  isComing(id: ShardId, epoch: number): boolean
  onChange(id: ShardId, listener: () => void): () => void
}

/** What a held call keeps. */
export type HeldRequest = Pick<PeerRequest, 'body' | 'signal' | 'remainingMs'>

/** Holds calls for as long as their shards are coming. */
export class HeldCalls {
  readonly #coming: ComingShards
  readonly #clock: Clock
  #count = 0
  #bytes = 0

  constructor(coming: ComingShards, clock: Clock) {
    this.#coming = coming
    this.#clock = clock
  }

  /** Resolves when the call may be tried; undefined if that is now. It never rejects. */
  hold({ shard, epoch }: CallHead, request: HeldRequest): Promise<void> | undefined {
    if (!this.#coming.isComing(shard, epoch)) return undefined
    const isFull = this.#count >= HELD_MAX || this.#bytes + request.body.length > HELD_BYTES_MAX
    return isFull ? undefined : this.#hold(shard, epoch, request)
  }

  async #hold(id: ShardId, epoch: number, request: HeldRequest): Promise<void> {
    const { body, signal } = request
    const over = new AbortController()
    const end = (): void => over.abort()
    const stop = this.#coming.onChange(id, () => {
      if (!this.#coming.isComing(id, epoch)) end()
    })
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    this.#count += 1
    this.#bytes += body.length
    // A call that ends by its deadline has an unknown outcome; one that is refused before has none.
    const leftMs = Math.min(HOLD_MS_MAX, (request.remainingMs() ?? Infinity) / 2)
    await this.#clock.sleep(leftMs, over.signal).catch(() => undefined)
    this.#count -= 1
    this.#bytes -= body.length
    signal.removeEventListener('abort', end)
    stop()
  }
}
