// What a worker has to do with answers that two threads share: as the reader of indexes of other workers,
// and as the home of indexes that others read.

import { ServiceError } from '../../../lib/errors.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import type { DividedAnswer, EngineFamily, SealedReader } from '../host/index-engine.ts'
import type { DividedCallAnswer, RequestOf } from '../host/protocol.ts'
import { unlessStopped } from '../host/stop-flag.ts'

/** The readers of indexes that live in other workers. */
export class SealedReaders {
  readonly #familyOf: (kind: string) => EngineFamily
  readonly #readers = new Map<number, OpenedReader>()

  constructor(familyOf: (kind: string) => EngineFamily) {
    this.#familyOf = familyOf
  }

  /** UNAVAILABLE for a question without a part, of another division than the last. */
  answer(index: number, request: RequestOf<'answerSealed'>): Sliced<unknown> {
    const { kind, asked, hold, part, stop } = request
    const opened = this.#readers.get(index) ?? this.#open(index, kind)
    if (part !== undefined) opened.last = { hold, sealed: part.sealed }
    const { reader, last } = opened
    if (last?.hold !== hold) throw new ServiceError('UNAVAILABLE', 'the reader lacks the part')
    return unlessStopped(reader.answer(asked, last.sealed), stop)
  }

  forget(index: number): void {
    this.#readers.get(index)?.reader.close()
    this.#readers.delete(index)
  }

  #open(index: number, kind: string): OpenedReader {
    const reader = this.#familyOf(kind).openReader?.()
    if (reader === undefined) {
      throw new ServiceError('UNAVAILABLE', `indexes of kind "${kind}" have no readers`)
    }
    const opened: OpenedReader = { reader, last: undefined }
    this.#readers.set(index, opened)
    return opened
  }
}

interface OpenedReader {
  readonly reader: SealedReader
  /** The division that was asked about last. */
  last: { readonly hold: number; readonly sealed: unknown } | undefined
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
