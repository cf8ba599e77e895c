import { assert } from '../../lib/assert.ts'
import type { PeerHandler, PeerHandlers } from './peer.ts'

/**
 * What a node answers other nodes, from its first connection on. Each part of the node adds its own operations when it
 * has been built, so the table exists before them all.
 *
 * - One part answers an operation.
 * - Until `complete`, a call of an operation that nobody has added is told that the node is starting.
 */
export class OperationTable extends Map<number, PeerHandler> {
  #isComplete = false

  get isComplete(): boolean {
    return this.#isComplete
  }

  add(handlers: PeerHandlers): void {
    for (const [operation, handler] of handlers) {
      assert(!this.has(operation), 'one part of the node answers an operation')
      this.set(operation, handler)
    }
  }

  /** Every part has been built. */
  complete(): void {
    this.#isComplete = true
  }
}
