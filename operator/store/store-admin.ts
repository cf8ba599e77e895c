// The store of one cluster, as the operator sees and steers it.

import { QuarryError, ServiceError } from '../../clients/typescript/src/errors.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { StoreView } from '../machines/observed/store-view.ts'
import { storeViewOf } from './store-view.ts'

/** A pass waits for the store no longer than that. */
const LOOK_TIMEOUT_MS = 5000
/** A call that steers writes to the control plane. */
const STEER_TIMEOUT_MS = 10_000

/** What is asked of a node, and for which operation: another one is refused with ConflictError. */
export interface NodeOperation {
  readonly nodeID: string
  readonly operation: string
}

/**
 * Contract:
 * - `look` answers `unreachable` if no node answered in time, or none with a success: that is neither healthy nor empty. It
 *   rejects only for a defect of this program.
 * - The other methods resolve when the control plane has written down what was asked. They reject with a QuarryError; after a
 *   ConnectionError it may be written down or not, and asking again with the same operation is one request.
 * - `forget` resolves for a node that is forgotten already.
 */
export interface StoreAdmin {
  look(): Promise<StoreView | 'unreachable'>
  /** For a minute the node gets no leaderships back, which is long enough for its pod to be stopped. */
  handOver(nodeID: string): Promise<void>
  drain(of: NodeOperation): Promise<void>
  undrain(of: NodeOperation): Promise<void>
  decommission(of: NodeOperation): Promise<void>
  forget(nodeID: string): Promise<void>
}

/** Over HTTP. Any node answers, so the next one is asked when one does not. */
export class HttpStoreAdmin implements StoreAdmin {
  readonly #client: StoreClient
  readonly #clock: Clock

  /** `urls` of nodes, one at least. */
  constructor({ urls, clock }: { readonly urls: readonly string[]; readonly clock: Clock }) {
    this.#clock = clock
    // Each node gets one attempt: the next pass of the operator is the repetition.
    this.#client = new StoreClient({ baseUrl: urls, retries: { attemptsMax: urls.length } })
  }

  async look(): Promise<StoreView | 'unreachable'> {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS)
    const options = { signal, timeoutMs: LOOK_TIMEOUT_MS / 2 }
    try {
      const [status, list] = await Promise.all([
        this.#client.getStatus(options),
        this.#client.listNodes(options),
      ])
      return storeViewOf({ status, list, readAtMs: this.#clock.nowMs() })
    } catch (error) {
      if (isNoAnswer(error, signal)) return 'unreachable'
      throw error
    }
  }

  async handOver(nodeID: string): Promise<void> {
    await this.#client.handOverLeaders(nodeID, {}, { timeoutMs: STEER_TIMEOUT_MS })
  }

  async drain({ nodeID, operation }: NodeOperation): Promise<void> {
    await this.#client.drainNode(nodeID, steering(operation))
  }

  async undrain({ nodeID, operation }: NodeOperation): Promise<void> {
    await this.#client.undrainNode(nodeID, steering(operation))
  }

  async decommission({ nodeID, operation }: NodeOperation): Promise<void> {
    await this.#client.decommissionNode(nodeID, steering(operation))
  }

  async forget(nodeID: string): Promise<void> {
    try {
      await this.#client.forgetNode(nodeID, { timeoutMs: STEER_TIMEOUT_MS })
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error
    }
  }
}

function steering(operationId: string) {
  return { operationId, timeoutMs: STEER_TIMEOUT_MS }
}

/** No node, or one that is not able to answer. */
function isNoAnswer(error: unknown, signal: AbortSignal): boolean {
  return error instanceof QuarryError || signal.aborted
}
