import type { Ending } from './ending.ts'
import { LaneQueue, type Lane } from './lane-queue.ts'

/** The right to be asked about, for a bounded count of documents of one index. */
export class LinePlaces {
  readonly #capacity: () => number
  readonly #waiting = new LaneQueue<() => void>()
  #taken = 0

  /** `capacity` may answer another count each time. */
  constructor(capacity: () => number) {
    this.#capacity = capacity
  }

  /** Takes a place as soon as there is one. Rejects with the reason of the end. */
  take(lane: Lane, ending: Ending): Promise<void> {
    return new Promise((resolve, reject) => {
      if (ending.isOver) return reject(ending.reason)
      if (this.#waiting.size === 0 && this.#hasPlace) {
        this.#taken += 1
        return resolve()
      }
      const onEnd = (): void => {
        this.#waiting.delete(enter)
        reject(ending.reason)
      }
      const enter = (): void => {
        ending.remove(onEnd)
        resolve()
      }
      this.#waiting.add(lane, enter)
      ending.add(onEnd)
    })
  }

  /** Gives a place back. */
  leave(): void {
    this.#taken -= 1
    this.give()
  }

  /** Gives free places to those who wait, of which there may be more since the capacity has changed. */
  give(): void {
    while (this.#hasPlace) {
      const enter = this.#waiting.take()
      if (enter === undefined) return
      this.#taken += 1
      enter()
    }
  }

  get #hasPlace(): boolean {
    return this.#taken < this.#capacity()
  }
}
