// Group commit: while one batch is on its way to the disk, the writes that arrive wait, and then go
// together as one batch. LevelDB runs batches on a thread pool, where two may overtake each other;
// with one in flight at a time they apply in the order of the calls.

import { ServiceError } from '../../lib/errors.ts'
import type { KvOp } from './kv-store.ts'

/** A backlog beyond this would only be a slower refusal. */
const WAITING_MAX = 65_536
/** A longer batch would make the first of its writes wait for the bytes of all the others. */
const GROUP_BYTES_MAX = 1024 * 1024

export interface Batch {
  readonly ops: readonly KvOp[]
  readonly sync: boolean
  readonly bytes: number
}

interface Waiting {
  readonly batch: Batch
  readonly done: PromiseWithResolvers<void>
}

/**
 * Contract:
 * - Writes reach `apply` in the order of the calls, one `apply` at a time.
 * - A write's operations are never divided between two `apply` calls.
 * - A write fails with the error of the `apply` it was part of.
 */
export class WriteQueue {
  readonly #apply: (batch: Batch) => Promise<void>
  #waiting: Waiting[] = []
  #draining: Promise<void> | undefined

  constructor(apply: (batch: Batch) => Promise<void>) {
    this.#apply = apply
  }

  write(batch: Batch): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      const reason = `${WAITING_MAX} writes wait for the disk already; try again later`
      return Promise.reject(new ServiceError('OVERLOADED', reason))
    }
    const done = Promise.withResolvers<void>()
    this.#waiting.push({ batch, done })
    this.#draining ??= this.#drain()
    return done.promise
  }

  /** Resolves when every write taken so far has succeeded or failed. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        await this.#apply(merge(group))
        for (const { done } of group) done.resolve()
      } catch (error) {
        for (const { done } of group) done.reject(error)
      }
    }
    this.#draining = undefined
  }

  #takeGroup(): readonly Waiting[] {
    let bytes = 0
    let count = 0
    for (const { batch } of this.#waiting) {
      bytes += batch.bytes
      if (count > 0 && bytes > GROUP_BYTES_MAX) break
      count += 1
    }
    const rest = this.#waiting.slice(count)
    const group = this.#waiting.slice(0, count)
    this.#waiting = rest
    return group
  }
}

function merge(group: readonly Waiting[]): Batch {
  const [first] = group
  if (first !== undefined && group.length === 1) return first.batch
  return {
    ops: group.flatMap(({ batch }) => batch.ops),
    sync: group.some(({ batch }) => batch.sync),
    bytes: group.reduce((sum, { batch }) => sum + batch.bytes, 0),
  }
}

export function bytesOf(ops: readonly KvOp[]): number {
  let bytes = 0
  for (const op of ops) bytes += op.key.length + (op.type === 'put' ? op.value.length : 0)
  return bytes
}
