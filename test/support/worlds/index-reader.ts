// A reader of an index in the same thread, to which everything goes through structured clones, as between
// threads.

import { runAtOnce } from '../../../lib/sliced.ts'
import type {
  AskedQuestion,
  EngineFamily,
  IndexEngine,
  SealedReader,
} from '../../../node/index/host/index-engine.ts'
import type { IndexDivision } from '../../../node/index/host/index-kind.ts'

/** An engine, and the family that it was opened by. */
export interface IndexInFamily {
  readonly engine: IndexEngine
  readonly family: EngineFamily
}

/** Asks an index in parts. */
export class IndexReader implements Disposable {
  readonly #engine: IndexEngine
  readonly #division: IndexDivision
  readonly #reader: SealedReader
  known: unknown

  constructor({ engine, family }: IndexInFamily, division: IndexDivision) {
    const reader = family.openReader?.()
    if (reader === undefined || engine.divide === undefined) {
      throw new TypeError('a kind with a division has engines that divide, and readers')
    }
    this.#engine = engine
    this.#division = division
    this.#reader = reader
  }

  find(asked: AskedQuestion, known = this.known) {
    this.known = known
    const before = this.known
    const answer = this.begin(asked)()
    return { answer, isDivided: this.known !== before }
  }

  /** Divides the question, and answers the function that asks for the rest. */
  begin(asked: AskedQuestion): () => unknown {
    const work = this.#engine.divide?.(asked, structuredClone(this.known))
    if (work === undefined) throw new TypeError('the engine does not divide')
    const divided = runAtOnce(work)
    if (divided.kind === 'whole') return () => divided.answer
    const { part, sealed, known } = divided
    this.known = structuredClone(known)
    const sent = structuredClone(sealed)
    return () => {
      const rest = structuredClone(this.#rest(asked, sent))
      divided.release()
      divided.release()
      if (part === undefined) return rest
      return runAtOnce(this.#division.join(asked.request, [structuredClone(part), rest]))
    }
  }

  #rest(asked: AskedQuestion, sealed: unknown): unknown {
    try {
      return runAtOnce(this.#reader.answer(asked, sealed))
    } catch (error) {
      this.known = undefined // as one that was started anew
      throw error
    }
  }

  [Symbol.dispose](): void {
    this.#reader.close()
  }
}
