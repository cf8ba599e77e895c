// What a worker has to do with answers that two threads share: as the reader of indexes of other workers,
// and as the home of indexes that others read.

import { ServiceError } from '../../../lib/errors.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import type { DividedAnswer, EngineFamily, SealedReader } from './index-engine.ts'
import type { DividedCallAnswer, RequestOf } from './protocol.ts'
import { unlessStopped } from './stop-flag.ts'

/** The readers of indexes that live in other workers. */
export class SealedReaders {
  readonly #familyOf: (kind: string) => EngineFamily
  readonly #readers = new Map<number, SealedReader>()

  constructor(familyOf: (kind: string) => EngineFamily) {
    this.#familyOf = familyOf
  }

  answer(index: number, request: RequestOf<'answerSealed'>): Sliced<unknown> {
    const { kind, asked, sealed, stop } = request
    const reader = this.#readers.get(index) ?? this.#open(index, kind)
    return unlessStopped(reader.answer(asked, sealed), stop)
  }

  forget(index: number): void {
    this.#readers.get(index)?.close()
    this.#readers.delete(index)
  }

  #open(index: number, kind: string): SealedReader {
    const reader = this.#familyOf(kind).openReader?.()
    if (reader === undefined) {
      throw new ServiceError('UNAVAILABLE', `indexes of kind "${kind}" have no readers`)
    }
    this.#readers.set(index, reader)
    return reader
  }
}

/** The view of an index, kept for the reader of a sealed part. */
interface Hold {
  readonly index: number
  release(): void
}

/** The divisions whose sealed parts are read elsewhere. A hold has a number of its own in the worker. */
export class DivisionHolds {
  readonly #holds = new Map<number, Hold>()
  #nextHold = 1

  /** As the message says it, with the number of the hold. */
  keep(index: number, divided: DividedAnswer): DividedCallAnswer {
    if (divided.kind === 'whole') return divided
    const hold = this.#nextHold
    this.#nextHold += 1
    this.#holds.set(hold, { index, release: () => divided.release() })
    const { kind, part, sealed, known } = divided
    return { kind, part, sealed, known, hold }
  }

  /** Undefined if its index was closed meanwhile. */
  take(hold: number): Hold | undefined {
    const taken = this.#holds.get(hold)
    this.#holds.delete(hold)
    return taken
  }

  /** The index is closed: it gave up what was held. */
  forget(index: number): void {
    for (const [number, hold] of this.#holds) if (hold.index === index) this.#holds.delete(number)
  }
}
