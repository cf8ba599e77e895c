// Which transaction holds which key of this shard: in memory, rebuilt from the intents keyspace.
//
// Invariants:
//   L1  A key has at most one writer; while it has one, no other transaction reads-locks it.
//   L2  Whatever is in the table is in the store or in the group being written; a failed write
//       therefore ends in a rebuild.
//   L3  An entry leaves the table only after its resolution is durable, so that a reader which
//       still needs the intent's value finds it here.

import type { Intent } from './format/intent-codec.ts'
import type { TransactionId } from './transaction-id.ts'

/** The hold of one transaction on one key; `heldSinceMs` is monotonic time of this process. */
export interface Hold {
  readonly key: Buffer
  readonly intent: Intent
  readonly heldSinceMs: number
}

export class LockTable {
  readonly #writers = new Map<string, Hold>()
  readonly #readers = new Map<string, Map<TransactionId, Hold>>()
  readonly #byTransaction = new Map<TransactionId, Hold[]>()

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
    return this.#writers.size === 0 ? undefined : this.#writers.get(nameOf(key))
  }

  /** Who stands in the way of `transactionId` (or of a plain write) on `key`, if anybody. */
  blocker(key: Buffer, access: 'read' | 'write', by?: TransactionId): Hold | undefined {
    if (this.size === 0) return undefined
    const name = nameOf(key)
    const writer = this.#writers.get(name)
    if (writer !== undefined && writer.intent.transactionId !== by) return writer
    if (access === 'read') return undefined
    for (const [reader, hold] of this.#readers.get(name) ?? []) {
      if (reader !== by) return hold
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
    return this.#writers.values()
  }

  release(transactionId: TransactionId): void {
    for (const { key, intent } of this.heldBy(transactionId)) {
      const name = nameOf(key)
      if (intent.op.kind === 'lock') this.#releaseReader(name, transactionId)
      else this.#writers.delete(name)
    }
    this.#byTransaction.delete(transactionId)
  }

  clear(): void {
    this.#writers.clear()
    this.#readers.clear()
    this.#byTransaction.clear()
  }

  #releaseReader(name: string, transactionId: TransactionId): void {
    const readers = this.#readers.get(name)
    readers?.delete(transactionId)
    if (readers?.size === 0) this.#readers.delete(name)
  }
}

// Latin-1 maps bytes to characters one to one, which makes it the cheapest exact map key.
function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
