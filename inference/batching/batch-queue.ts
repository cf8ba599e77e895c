// The queue of one model: it holds the waiting items and forms the next batch.
//
// Processor time grows with padded tokens, so a batch holds items of nearly one length. Batches are
// small: a large request becomes many batches, and other requests get their turns between them.
//
// Invariants:
//   B1  A batch holds items of one group, at most `itemsMax` of them. Padded to its longest item, it
//       has at most `tokensMax` tokens; a batch of mixed lengths, which its worker runs in parts, has
//       as many without padding. An item with more tokens than that is run alone.
//   B2  Two waiting requests take turns: neither gets its second batch before the other's first.
//       Small requests go first, at most `SMALL_TURNS_MAX` times in a row while a large one waits.
//   B3  A cancelled item is never taken.

import { assert } from '../../lib/assert.ts'
import { OpenBatch } from './open-batch.ts'
import type { BatchRule, QueuedWork } from './open-batch.ts'

/** A request of few items is a person's query, which should not wait behind a bulk load. */
const SMALL_ITEMS_MAX = 4
const SMALL_TURNS_MAX = 8
interface WaitingRequest<Work> {
  readonly id: number
  /** Shortest first once sorted, so that the longest is popped. */
  works: Work[]
  isSorted: boolean
  readonly enqueuedAtMs: number
}

/**
 * The waiting items of one model. It is not thread-safe and needs no locks: every method returns at
 * once. The caller chooses the request numbers, one for each request.
 */
export class BatchQueue<Work extends QueuedWork> {
  /** Requests in order of their turns: a request that has been served moves to the end. */
  readonly #small = new Map<number, WaitingRequest<Work>>()
  readonly #large = new Map<number, WaitingRequest<Work>>()
  readonly #cancelled = new Set<Work>()
  #size = 0
  #cost = 0
  #smallTurns = 0

  /** The number of waiting items; cancelled items do not count. */
  get size(): number {
    return this.#size
  }

  /** The number of tokens of all waiting items. */
  get cost(): number {
    return this.#cost
  }

  /** The arrival time of the request that has waited longest; undefined when nothing waits. */
  oldestMs(): number | undefined {
    let oldest: number | undefined
    for (const lane of [this.#small, this.#large]) {
      for (const { enqueuedAtMs } of lane.values()) {
        if (oldest === undefined || enqueuedAtMs < oldest) oldest = enqueuedAtMs
      }
    }
    return oldest
  }

  /**
   * Adds one item of a request. Items may be added one by one: those with the same request number
   * take their turns together.
   */
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

  /** Removes a waiting item. An item that has been taken stays with its batch. */
  cancel(work: Work, request: number): void {
    const waiting = this.#small.get(request) ?? this.#large.get(request)
    if (waiting === undefined || this.#cancelled.has(work) || !waiting.works.includes(work)) return
    this.#cancelled.add(work)
    this.#count(work)
    this.#forgetIfEmpty(waiting)
  }

  /** Removes and returns the next batch. The batch is empty only when nothing waits. */
  take(rule: BatchRule): Work[] {
    const leader = this.#nextLeader()
    if (leader === undefined) return []
    const first = this.#popLongest(leader)
    assert(first !== undefined, 'a waiting request has an item')
    const batch = new OpenBatch(first, rule)
    for (const request of [leader, ...this.#small.values(), ...this.#large.values()]) {
      if (batch.isFull) break
      this.#fill(batch, request)
    }
    this.#rotate(leader)
    return batch.works
  }

  /** Removes and returns all waiting items, because the queue's model can no longer run them. */
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

  /** Adds items of this request, the longest first. */
  #fill(batch: OpenBatch<Work>, request: WaitingRequest<Work>): void {
    sortByCost(request)
    const { works } = request
    let index = firstAbove(works, batch.costMax) - 1
    while (index >= 0 && !batch.isFull) {
      const work = works[index]
      if (work === undefined || !batch.isLongEnough(work)) return
      if (!this.#cancelled.has(work) && batch.add(work)) this.#removeAt(works, index)
      index -= 1
    }
  }

  /** Removes requests without items and moves the leader to the end of its lane. */
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

function sortByCost(request: WaitingRequest<QueuedWork>): void {
  if (request.isSorted) return
  request.works.sort((a, b) => a.cost - b.cost)
  request.isSorted = true
}

/** The index of the first item that costs more than `cost`. The items are sorted by cost. */
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
