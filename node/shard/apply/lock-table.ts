// The holds of transactions on keys of this shard. They are in memory; a start rebuilds them from the
// intents keyspace.
//
// Invariants:
//   L1  A key has at most one writer; while it has one, no other transaction reads-locks it.
//   L2  Every hold in the table is in the store or in the group that is being written. So a failed write
//       ends in a rebuild.
//   L3  An entry leaves the table only after its resolution is durable, so that a reader which
//       still needs the intent's value finds it here.
//   L4  A release hides all holds of its transaction at once, also while they are removed in steps.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { Intent } from '../format/intent-codec.ts'
import type { TransactionId } from '../command/transaction-id.ts'

/** The hold of one transaction on one key; `heldSinceMs` is monotonic time of this process. */
export interface Hold {
  readonly key: Buffer
  readonly intent: Intent
  readonly heldSinceMs: number
}

/** More holds of one transaction are swept out in steps. */
const RELEASED_AT_ONCE_MAX = 1000
/** Swept in about a millisecond. */
const HOLDS_PER_STEP = 2000

/** The holds of prepared transactions on the keys of one shard, in memory. */
export class LockTable {
  readonly #writers = new Map<string, Hold>()
  readonly #readers = new Map<string, Map<TransactionId, Hold>>()
  readonly #byTransaction = new Map<TransactionId, Hold[]>()
  /** Released, and not swept out yet. */
  readonly #released = new Map<TransactionId, readonly Hold[]>()

  /** Holds that were released count until they are swept out. */
  get size(): number {
    return this.#writers.size + this.#readers.size
  }

  add(hold: Hold): void {
    const name = nameOf(hold.key)
    const { transactionId, op } = hold.intent
    if (op.kind === 'lock') {
      const readers = this.#readers.get(name) ?? new Map<TransactionId, Hold>()
      readers.set(transactionId, hold)
      this.#readers.set(name, readers)
    } else {
      this.#writers.set(name, hold)
    }
    const holds = this.#byTransaction.get(transactionId)
    if (holds === undefined) this.#byTransaction.set(transactionId, [hold])
    else holds.push(hold)
  }

  writer(key: Buffer): Hold | undefined {
    if (this.#writers.size === 0) return undefined
    const hold = this.#writers.get(nameOf(key))
    return hold === undefined || this.#isReleased(hold) ? undefined : hold
  }

  /** The hold that keeps `by` (undefined: a plain write or read) from `key`; undefined if it is free. */
  blocker(key: Buffer, access: 'read' | 'write', by?: TransactionId): Hold | undefined {
    if (this.size === 0) return undefined
    const name = nameOf(key)
    const writer = this.#writers.get(name)
    if (writer !== undefined && writer.intent.transactionId !== by && !this.#isReleased(writer)) {
      return writer
    }
    if (access === 'read') return undefined
    for (const [reader, hold] of this.#readers.get(name) ?? []) {
      if (reader !== by && !this.#isReleased(hold)) return hold
    }
    return undefined
  }

  heldBy(transactionId: TransactionId): readonly Hold[] {
    return this.#byTransaction.get(transactionId) ?? []
  }

  /** One hold for each transaction: its oldest. */
  oldest(): IterableIterator<Hold> {
    return this.#byTransaction
      .values()
      .map(([first]) => first)
      .filter((hold) => hold !== undefined)
  }

  writers(): IterableIterator<Hold> {
    return this.#writers.values().filter((hold) => !this.#isReleased(hold))
  }

  release(transactionId: TransactionId): void {
    const holds = this.heldBy(transactionId)
    this.#byTransaction.delete(transactionId)
    if (holds.length > RELEASED_AT_ONCE_MAX) this.#released.set(transactionId, holds)
    else for (const hold of holds) this.#remove(hold)
  }

  get isSwept(): boolean {
    return this.#released.size === 0
  }

  /** Removes the released holds from memory. Other calls may come between two steps. */
  *sweep(): Sliced<void> {
    const meter = new StepMeter(HOLDS_PER_STEP)
    for (const [transactionId, holds] of this.#released) {
      for (const hold of holds) {
        this.#remove(hold)
        if (meter.spend(1)) yield
      }
      this.#released.delete(transactionId)
    }
  }

  clear(): void {
    this.#writers.clear()
    this.#readers.clear()
    this.#byTransaction.clear()
    this.#released.clear()
  }

  #isReleased({ intent }: Hold): boolean {
    return this.#released.size > 0 && this.#released.has(intent.transactionId)
  }

  /** Removes this hold, but not a later one of the same key. */
  #remove(hold: Hold): void {
    const name = nameOf(hold.key)
    const { transactionId, op } = hold.intent
    if (op.kind !== 'lock') {
      if (this.#writers.get(name) === hold) this.#writers.delete(name)
      return
    }
    const readers = this.#readers.get(name)
    if (readers?.get(transactionId) === hold) readers.delete(transactionId)
    if (readers?.size === 0) this.#readers.delete(name)
  }
}

// Latin-1 maps bytes to characters one to one, which makes it the cheapest exact map key.
function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
