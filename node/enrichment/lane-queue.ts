// Who waits for something that documents need: those that were just written go before those that a walk found.

/** Whether a document was just written, or was found by a walk over the table. */
export type Lane = 'write' | 'walk'

/** Every eighth turn is that of a walk, so that it ends also under steady writes. */
const WALK_TURN = 8

/** A queue of two lanes; within a lane the order is that of arrival. */
export class LaneQueue<Item> {
  readonly #lanes: Readonly<Record<Lane, Set<Item>>> = { write: new Set(), walk: new Set() }
  #turns = 0

  get size(): number {
    return this.#lanes.write.size + this.#lanes.walk.size
  }

  add(lane: Lane, item: Item): void {
    this.#lanes[lane].add(item)
  }

  delete(item: Item): void {
    for (const lane of Object.values(this.#lanes)) lane.delete(item)
  }

  /** The item that `take` would answer. */
  get next(): Item | undefined {
    const { write, walk } = this.#lanes
    const isTurnOfWalk = this.#turns % WALK_TURN === WALK_TURN - 1
    const [item] = (isTurnOfWalk && walk.size > 0) || write.size === 0 ? walk : write
    return item
  }

  take(): Item | undefined {
    const item = this.next
    if (item === undefined) return undefined
    this.#turns += 1
    this.delete(item)
    return item
  }
}
