// What waits for one model, and which of it is run next.
//
// Processor time grows with padded tokens, so a batch holds items of nearly one length; and because
// a batch is small, a large request is many batches, between which other requests get their turn.
//
// Invariants:
//   B1  A batch holds items of one group, at most `itemsMax`, and padded to its longest item it has
//       at most `tokensMax` tokens; an item that is longer than that alone is run alone.
//   B2  Of two waiting requests neither gets a second batch of its own before the other's first,
//       but small requests go first, `SMALL_TURNS_MAX` times in a row at most while a large one waits.
//   B3  A cancelled item is never taken.

import { assert } from '../../lib/assert.ts'

/** A request of few items is somebody's query; a large one is a load. */
const SMALL_ITEMS_MAX = 4
const SMALL_TURNS_MAX = 8
/** How many times as long as its shortest item a batch's longest may be. */
const LENGTH_RATIO_MAX = 1.25
/** Below this, padding costs less than another run. */
const LENGTH_SLACK_TOKENS = 8

export interface BatchLimits {
  readonly tokensMax: number
  readonly itemsMax: number
}

/** Something to be run. What is equal in `group` may share a batch. */
export interface QueuedWork {
  readonly cost: number
  readonly group: string
}

interface WaitingRequest<Work> {
  readonly id: number
  /** Shortest first once sorted, so that the longest is popped. */
  works: Work[]
  isSorted: boolean
  readonly enqueuedAtMs: number
}

export class BatchQueue<Work extends QueuedWork> {
  /** In order of their turns: who has been served goes to the end. */
  readonly #small = new Map<number, WaitingRequest<Work>>()
  readonly #large = new Map<number, WaitingRequest<Work>>()
  readonly #cancelled = new Set<Work>()
  #size = 0
  #cost = 0
  #smallTurns = 0

  /** Items that wait, without the cancelled ones. */
  get size(): number {
    return this.#size
  }

  /** Tokens that wait. */
  get cost(): number {
    return this.#cost
  }

  /** When the request arrived that has waited longest; undefined: nothing waits. */
  oldestMs(): number | undefined {
    let oldest: number | undefined
    for (const lane of [this.#small, this.#large]) {
      for (const { enqueuedAtMs } of lane.values()) {
        if (oldest === undefined || enqueuedAtMs < oldest) oldest = enqueuedAtMs
      }
    }
    return oldest
  }

  /** The items of one request may be added one by one; together they take turns as one request. */
  add(work: Work, request: number, nowMs: number): void {
    const waiting = this.#small.get(request) ?? this.#large.get(request)
    this.#size += 1
    this.#cost += work.cost
    if (waiting === undefined) {
      const works = [work]
      this.#small.set(request, { id: request, works, isSorted: true, enqueuedAtMs: nowMs })
      return
    }
    waiting.works.push(work)
    waiting.isSorted = false
    if (waiting.works.length > SMALL_ITEMS_MAX && this.#small.delete(request)) {
      this.#large.set(request, waiting)
    }
  }

  /** Does nothing to an item that has been taken. */
  cancel(work: Work, request: number): void {
    const waiting = this.#small.get(request) ?? this.#large.get(request)
    if (waiting === undefined || this.#cancelled.has(work) || !waiting.works.includes(work)) return
    this.#cancelled.add(work)
    this.#count(work)
    this.#forgetIfEmpty(waiting)
  }

  /** The next batch; empty exactly if nothing waits. */
  take(limits: BatchLimits): Work[] {
    const leader = this.#nextLeader()
    if (leader === undefined) return []
    const first = this.#popLongest(leader)
    assert(first !== undefined, 'a waiting request has an item')
    const batch = [first]
    for (const request of [leader, ...this.#small.values(), ...this.#large.values()]) {
      if (batch.length >= this.#roomFor(first, limits)) break
      this.#fill(batch, request, limits)
    }
    this.#rotate(leader)
    return batch
  }

  /** Everything that waits, for a queue that is given up. */
  drain(): Work[] {
    const works = [...this.#small.values(), ...this.#large.values()]
      .flatMap((request) => request.works)
      .filter((work) => !this.#cancelled.has(work))
    this.#small.clear()
    this.#large.clear()
    this.#cancelled.clear()
    this.#size = 0
    this.#cost = 0
    return works
  }

  #nextLeader(): WaitingRequest<Work> | undefined {
    const [small] = this.#small.values()
    const [large] = this.#large.values()
    const smallFirst = large === undefined || this.#smallTurns < SMALL_TURNS_MAX
    const leader = smallFirst ? (small ?? large) : large
    this.#smallTurns = leader === small ? this.#smallTurns + 1 : 0
    return leader
  }

  #popLongest(request: WaitingRequest<Work>): Work | undefined {
    sortByCost(request)
    const { works } = request
    return this.#removeAt(
      works,
      works.findLastIndex((work) => !this.#cancelled.has(work)),
    )
  }

  #removeAt(works: Work[], index: number): Work | undefined {
    const [work] = works.splice(index, 1)
    if (work !== undefined) this.#count(work)
    return work
  }

  #count(work: Work): void {
    this.#size -= 1
    this.#cost -= work.cost
  }

  #roomFor(longest: Work, { tokensMax, itemsMax }: BatchLimits): number {
    return Math.max(1, Math.min(itemsMax, Math.floor(tokensMax / Math.max(1, longest.cost))))
  }

  /** Adds of this request what is not longer than the batch's longest and not much shorter. */
  #fill(batch: Work[], request: WaitingRequest<Work>, limits: BatchLimits): void {
    const [longest] = batch
    if (longest === undefined) return
    sortByCost(request)
    const { works } = request
    const room = this.#roomFor(longest, limits)
    let index = firstAbove(works, longest.cost) - 1
    while (index >= 0 && batch.length < room) {
      const work = works[index]
      if (work === undefined || !isNearlyAsLong(work.cost, longest.cost)) return
      if (!this.#cancelled.has(work) && work.group === longest.group) {
        this.#removeAt(works, index)
        batch.push(work)
      }
      index -= 1
    }
  }

  /** Forgets who has nothing left; sends the leader to the end of its lane. */
  #rotate(leader: WaitingRequest<Work>): void {
    for (const lane of [this.#small, this.#large]) {
      for (const request of lane.values()) this.#forgetIfEmpty(request)
      if (lane.delete(leader.id)) lane.set(leader.id, leader)
    }
  }

  #forgetIfEmpty({ id, works }: WaitingRequest<Work>): void {
    if (works.some((work) => !this.#cancelled.has(work))) return
    for (const work of works) this.#cancelled.delete(work)
    this.#small.delete(id)
    this.#large.delete(id)
  }
}

/** Whether padding it to the longest costs less than a run of its own. */
export function isNearlyAsLong(length: number, longest: number): boolean {
  return (length + LENGTH_SLACK_TOKENS) * LENGTH_RATIO_MAX >= longest
}

function sortByCost(request: WaitingRequest<QueuedWork>): void {
  if (request.isSorted) return
  request.works.sort((a, b) => a.cost - b.cost)
  request.isSorted = true
}

/** Where the first item costs more than `cost`; the items are sorted. */
function firstAbove(works: readonly QueuedWork[], cost: number): number {
  let low = 0
  let high = works.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((works[middle]?.cost ?? 0) <= cost) low = middle + 1
    else high = middle
  }
  return low
}
