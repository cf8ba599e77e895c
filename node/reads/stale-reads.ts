// Reads of any replica: documents as they were a moment ago, at one time for all shards of a request.
//
// Invariants:
//   SR1  Everything that one view shows is of one time, so no transaction is seen by half.
//   SR2  No leader and no control plane is asked.
//   SR3  An age is not below what has passed since its time, but for what messages are on their way: it is measured by
//        reckoned time (`HybridClock.reckonedMs`), and not by hybrid time, which slews after a leap.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { millisOf, timestampAtMs, type HybridClock, type Timestamp } from '../clock/hybrid-clock.ts'
import { intersectRanges, keyAfter, type KeyRange } from '../shard/command/key-range.ts'
import type { DocumentRecord } from '../shard/format/document-record.ts'
import type { ShardReplica } from '../shard/shard-replica.ts'
import type { ScanRow, Shard } from '../shard/shard.ts'
import { seekKeys } from './seek-keys.ts'
import { firstAnswer, freshEnough, throwIfFinal, type FindReplicas } from './replica-choice.ts'

/** While a replica is not older than this, a nearer one is preferred to a fresher one. */
const FRESH_MS = 10_000

/** What stale reads are made with. */
export interface StaleReadsOptions {
  readonly replicasOf: FindReplicas
  readonly hybridClock: HybridClock
  readonly clock: Clock
}

/** Something that was read, and how many milliseconds old it is. */
export interface Aged<Value> {
  readonly value: Value
  readonly stalenessMs: number
}

/** A shard with its replicas, in the order in which they are asked. */
interface ChosenReplicas {
  readonly shard: Shard
  readonly replicas: readonly ShardReplica[]
}

type Chosen = ChosenReplicas & { readonly at: Timestamp }

/** Opens views of the shards' replicas, and reads single documents. */
export class StaleReads {
  readonly #with: StaleReadsOptions

  constructor(options: StaleReadsOptions) {
    this.#with = options
  }

  async lookup(shard: Shard, key: Buffer): Promise<Aged<DocumentRecord | undefined>> {
    const replicas = this.#with.replicasOf(shard.id)
    const freshness = { since: this.#since, signal: undefined }
    const { at, record } = await freshEnough(replicas, (one) => one.readAt(key), freshness)
    return { value: record, stalenessMs: this.#ageMsOf(at) }
  }

  /**
   * One time of all shards. A shard without a replica that answers fails when it is read; if all shards are such,
   * this rejects.
   */
  async open(shards: readonly Shard[], signal: AbortSignal): Promise<Aged<StaleView>> {
    const settled = await Promise.allSettled(shards.map((shard) => this.#choose(shard, signal)))
    const chosen: ChosenReplicas[] = []
    let at: Timestamp | undefined
    let refusal: unknown
    for (const [i, outcome] of settled.entries()) {
      const shard = shards[i]
      if (shard === undefined) continue
      if (outcome.status === 'rejected') {
        if (!isServiceError(outcome.reason)) throw outcome.reason
        refusal = outcome.reason
        chosen.push({ shard, replicas: this.#with.replicasOf(shard.id) })
        continue
      }
      chosen.push(outcome.value)
      if (at === undefined || outcome.value.at < at) ({ at } = outcome.value)
    }
    if (at === undefined) throw refusal
    return { value: new StaleView(at, chosen), stalenessMs: this.#ageMsOf(at) }
  }

  async #choose(shard: Shard, signal: AbortSignal): Promise<Chosen> {
    const replicas = this.#with.replicasOf(shard.id)
    const ask = async (replica: ShardReplica) => ({
      replica,
      at: await replica.closedTime({ signal }),
    })
    const { replica, at } = await freshEnough(replicas, ask, { since: this.#since, signal })
    return { shard, at, replicas: [replica, ...replicas.filter((one) => one !== replica)] }
  }

  get #nowMs(): number {
    return this.#with.hybridClock.reckonedMs()
  }

  get #since(): Timestamp {
    return timestampAtMs(Math.max(0, this.#nowMs - FRESH_MS))
  }

  #ageMsOf(at: Timestamp): number {
    return Math.max(0, this.#nowMs - millisOf(at))
  }
}

/** What is read of a view: a range, or some keys in it. */
export interface StaleScan {
  readonly range: KeyRange
  /** Set if no other key is wanted. */
  readonly keys?: readonly Buffer[] | undefined
  readonly signal: AbortSignal
}

/** The shards of a table at one time (SR1). */
export class StaleView {
  readonly at: Timestamp
  readonly #shards: ReadonlyMap<Shard, ChosenReplicas>

  constructor(at: Timestamp, chosen: readonly ChosenReplicas[]) {
    this.at = at
    this.#shards = new Map(chosen.map((one) => [one.shard, one]))
  }

  /** The replicas of a shard of this view, the one that was chosen first. */
  replicasOf(shard: Shard): readonly ShardReplica[] {
    return this.#shards.get(shard)?.replicas ?? []
  }

  async read(shard: Shard, key: Buffer, signal: AbortSignal): Promise<DocumentRecord | undefined> {
    const { at } = this
    const ask = (replica: ShardReplica) => replica.readAt(key, { at, signal })
    return (await firstAnswer(this.replicasOf(shard), ask, signal)).record
  }

  /** Walks the shards one after the other, or looks up `keys` alone. */
  async *scan({ range, keys, signal }: StaleScan): AsyncGenerator<ScanRow[]> {
    const parts = [...this.#shards.keys()].flatMap((shard) => {
      const part = intersectRanges(range, shard.range)
      const scan = (one: KeyRange) => this.#scanShard(shard, one, signal)
      return part === undefined ? [] : [{ part, scan }]
    })
    if (keys !== undefined) yield* seekKeys(parts, keys)
    else for (const { part, scan } of parts) yield* scan(part)
  }

  /** A replica that goes away is replaced by the next one, behind the last row: both show the same. */
  async *#scanShard(shard: Shard, range: KeyRange, signal: AbortSignal): AsyncGenerator<ScanRow[]> {
    const { at } = this
    const left = [...this.replicasOf(shard)]
    const progress = { start: range.start }
    for (;;) {
      const open = async (replica: ShardReplica) => {
        left.splice(0, left.indexOf(replica) + 1)
        return replica.scanAt({ range: { start: progress.start, end: range.end }, at, signal })
      }
      const pages = await firstAnswer([...left], open, signal)
      try {
        return yield* noting(pages, progress)
      } catch (error) {
        throwIfFinal(error, signal)
        if (left.length === 0) throw error
      }
    }
  }
}

/** Remembers where a scan of the rest begins. */
async function* noting(
  pages: AsyncIterable<ScanRow[]>,
  progress: { start: Buffer },
): AsyncGenerator<ScanRow[], void> {
  for await (const page of pages) {
    const last = page.at(-1)
    if (last !== undefined) progress.start = keyAfter(last.key)
    yield page
  }
}
