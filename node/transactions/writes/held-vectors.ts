// The memory of vectors, and of documents that transforms make, from when they are made until they are committed.

import { ServiceError } from '../../../lib/errors.ts'

/** The most bytes of one request, and of all requests of a node together. */
export interface VectorMemoryLimits {
  readonly requestBytesMax: number
  readonly nodeBytesMax: number
}

const LIMITS_DEFAULT: VectorMemoryLimits = {
  requestBytesMax: 64 * 1024 * 1024,
  nodeBytesMax: 256 * 1024 * 1024,
}

/** Counts what the requests of a node hold. */
export class VectorMemory {
  readonly #limits: VectorMemoryLimits
  #held = 0

  constructor(limits: VectorMemoryLimits = LIMITS_DEFAULT) {
    this.#limits = limits
  }

  get heldBytes(): number {
    return this.#held
  }

  /** The share of one request, which is given back when it is disposed of. */
  share(): VectorShare {
    let taken = 0
    return {
      take: (bytes) => {
        const { requestBytesMax, nodeBytesMax } = this.#limits
        if (taken + bytes > requestBytesMax) {
          const problem = `vectors and transformed documents of one request have at most ${requestBytesMax} bytes`
          throw new ServiceError('INVALID_ARGUMENT', `${problem}; divide the request`)
        }
        if (this.#held + bytes > nodeBytesMax) {
          const problem =
            'too many vectors of other requests wait for their writes; try again later'
          throw new ServiceError('OVERLOADED', problem)
        }
        taken += bytes
        this.#held += bytes
      },
      [Symbol.dispose]: () => {
        this.#held -= taken
        taken = 0
      },
    }
  }
}

/** What one request holds. */
export interface VectorShare extends Disposable {
  /** INVALID_ARGUMENT for more than one request may hold; OVERLOADED while others hold too much. */
  take(bytes: number): void
}
