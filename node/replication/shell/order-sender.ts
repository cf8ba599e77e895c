// Sends a leader's entries to its followers: from memory where they are there, otherwise from the journal.

import type { NodeId } from '../core/configuration.ts'
import type { AppendOrder } from '../core/messages.ts'
import type { KeptEntries } from './kept-entries.ts'
import type { LogReader } from './log-reader.ts'
import { encodeMessage, type Envelope, type SentEntry } from './message-codec.ts'

/** What the sender works with. */
export interface OrderSenderOptions {
  readonly kept: KeptEntries
  readonly newReader: () => LogReader
  readonly envelope: () => Envelope
  readonly send: (to: NodeId, message: Buffer) => void
  /** Entries up to here are neither in memory nor in the journal any more. */
  readonly onGone: (through: number) => void
  /** Called when the journal cannot be read. */
  readonly onFailure: (error: unknown) => void
}

/** One follower that gets entries from the journal. */
interface Lane {
  readonly reader: LogReader
  /** Orders that wait for the journal. While there are any, later ones wait behind them. */
  waiting: number
  done: Promise<void>
}

/** Sends orders of each follower in their order. An order whose entries are gone is dropped. */
export class OrderSender {
  readonly #with: OrderSenderOptions
  readonly #lanes = new Map<NodeId, Lane>()

  constructor(options: OrderSenderOptions) {
    this.#with = options
  }

  send(order: AppendOrder): void {
    const lane = this.#lanes.get(order.to)
    const { previous, through } = order
    const kept = this.#with.kept.between(previous.sequence, through)
    if (kept !== undefined && (lane === undefined || lane.waiting === 0)) {
      return this.#send(order, kept)
    }
    this.#sendLater(order, lane ?? this.#newLane(order.to))
  }

  /** Resolves when no order is under way. */
  async close(): Promise<void> {
    for (const { done, reader } of this.#lanes.values()) {
      await done
      await reader.rest()
    }
  }

  #newLane(to: NodeId): Lane {
    const lane = { reader: this.#with.newReader(), waiting: 0, done: Promise.resolve() }
    this.#lanes.set(to, lane)
    return lane
  }

  #sendLater(order: AppendOrder, lane: Lane): void {
    lane.waiting += 1
    lane.done = lane.done
      .then(() => this.#read(order, lane))
      .catch((error: unknown) => this.#with.onFailure(error))
      .finally(() => {
        lane.waiting -= 1
      })
  }

  async #read(order: AppendOrder, lane: Lane): Promise<void> {
    const { previous, through } = order
    const kept = this.#with.kept.between(previous.sequence, through)
    const entries = kept ?? (await lane.reader.between(previous.sequence, through))
    // A reader that is not needed now must not keep segments of the journal.
    if (kept !== undefined || lane.waiting === 1) await lane.reader.rest()
    if (entries !== undefined) return this.#send(order, entries)
    const { goneThrough } = lane.reader
    if (goneThrough !== undefined) this.#with.onGone(goneThrough)
  }

  #send(order: AppendOrder, entries: readonly SentEntry[]): void {
    this.#with.send(order.to, encodeMessage(this.#with.envelope(), order, entries))
  }
}
