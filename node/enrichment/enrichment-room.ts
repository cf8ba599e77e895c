// The room for documents that are being enriched, in count and in bytes: one for all indexes of the node.
//
// Invariants:
//   ER1  Documents enter while both limits hold with them, or alone: bytes grow later only by what was made of them.
//   ER2  Room that becomes free goes to the waiting index that has the fewest documents inside. So one whose model
//        is slow keeps the others waiting for a share of the room, not for all of it.

import type { Ending } from './ending.ts'
import { LaneQueue, type Lane } from './lane-queue.ts'

/** How much is inside at once. */
export interface RoomLimits {
  readonly documents: number
  readonly bytes: number
}

/** A few full batches for each of several models; a document with its source and artifact has some KiB. */
const ROOM_LIMITS: RoomLimits = { documents: 8192, bytes: 64 * 1024 * 1024 }

/** Whose document enters, how it waits, and what it holds in memory. */
export interface Entrance {
  /** Documents of one owner compete with each other first. */
  readonly owner: object
  readonly lane: Lane
  readonly bytes: number
}

interface Waiter {
  readonly entrance: Entrance
  enter(permit: Permit): void
}

interface Share {
  inside: number
  readonly waiting: LaneQueue<Waiter>
}

/** The right of one document to be inside. */
export class Permit {
  readonly #room: EnrichmentRoom
  readonly #owner: object
  #bytes: number
  #isReleased = false

  constructor(room: EnrichmentRoom, { owner, bytes }: Entrance) {
    this.#room = room
    this.#owner = owner
    this.#bytes = bytes
  }

  /** The document holds another number of bytes from now on. */
  resize(bytes: number): void {
    const more = bytes - this.#bytes
    this.#bytes = bytes
    this.#room.grow(more)
  }

  /** Once; later calls do nothing. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#room.leave(this.#owner, this.#bytes)
  }
}

/** Counts what is inside, and lets documents enter (ER1, ER2). */
export class EnrichmentRoom {
  readonly #limits: RoomLimits
  readonly #shares = new Map<object, Share>()
  #documents = 0
  #bytes = 0

  constructor(limits: RoomLimits = ROOM_LIMITS) {
    this.#limits = limits
  }

  /** Documents inside, and the bytes that they hold. */
  get inside(): RoomLimits {
    return { documents: this.#documents, bytes: this.#bytes }
  }

  /** Undefined where the document would have to wait. */
  tryEnter(entrance: Entrance): Permit | undefined {
    const isFirst = this.#shares.values().every(({ waiting }) => waiting.size === 0)
    return isFirst && this.#hasRoomFor(entrance) ? this.#admit(entrance) : undefined
  }

  /** Rejects with the reason of the end. */
  enter(entrance: Entrance, ending: Ending): Promise<Permit> {
    const permit = this.tryEnter(entrance)
    if (permit !== undefined) return Promise.resolve(permit)
    return new Promise((resolve, reject) => {
      if (ending.isOver) return reject(ending.reason)
      const { waiting } = this.#shareOf(entrance.owner)
      const onEnd = (): void => {
        waiting.delete(waiter)
        this.#forget(entrance.owner)
        reject(ending.reason)
        this.#admitWaiting()
      }
      const waiter: Waiter = {
        entrance,
        enter: (entered) => {
          ending.remove(onEnd)
          resolve(entered)
        },
      }
      waiting.add(entrance.lane, waiter)
      ending.add(onEnd)
    })
  }

  /** Called by a permit. */
  grow(bytes: number): void {
    this.#bytes += bytes
    if (bytes < 0) this.#admitWaiting()
  }

  /** Called by a permit. */
  leave(owner: object, bytes: number): void {
    this.#documents -= 1
    this.#bytes -= bytes
    this.#shareOf(owner).inside -= 1
    this.#forget(owner)
    this.#admitWaiting()
  }

  #hasRoomFor({ bytes }: Entrance): boolean {
    if (this.#documents === 0) return true
    return this.#documents < this.#limits.documents && this.#bytes + bytes <= this.#limits.bytes
  }

  #admit(entrance: Entrance): Permit {
    this.#documents += 1
    this.#bytes += entrance.bytes
    this.#shareOf(entrance.owner).inside += 1
    return new Permit(this, entrance)
  }

  #admitWaiting(): void {
    for (;;) {
      const share = this.#poorest()
      const waiter = share?.waiting.next
      if (share === undefined || waiter === undefined) return
      if (!this.#hasRoomFor(waiter.entrance)) return
      share.waiting.take()
      waiter.enter(this.#admit(waiter.entrance))
    }
  }

  #poorest(): Share | undefined {
    let poorest: Share | undefined
    for (const share of this.#shares.values()) {
      if (share.waiting.size === 0) continue
      if (poorest === undefined || share.inside < poorest.inside) poorest = share
    }
    return poorest
  }

  #shareOf(owner: object): Share {
    const known = this.#shares.get(owner)
    if (known !== undefined) return known
    const share = { inside: 0, waiting: new LaneQueue<Waiter>() }
    this.#shares.set(owner, share)
    return share
  }

  #forget(owner: object): void {
    const { inside, waiting } = this.#shareOf(owner)
    if (inside === 0 && waiting.size === 0) this.#shares.delete(owner)
  }
}
