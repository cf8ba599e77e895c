import type { ColumnReader } from '../segment/column.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { u32At } from './bulk-search.ts'
import type { Poll } from '../poll.ts'
import { PAUSED, type Scorer } from './scorer.ts'
import type { ColumnTest, ValueTest } from './column-test.ts'

const CHUNK_MIN = 32
const CHUNK_MAX = 4096

/**
 * The documents whose values in a column pass a test. It reads only as far as the caller walks,
 * which is little beside a leader with few documents. Chunks grow while they are read one behind
 * the other.
 */
export class ColumnScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #column: ColumnReader
  readonly #passes: ValueTest
  readonly #score: number
  readonly #poll: Poll
  #from = 0
  #to = 0
  #values: Float64Array = new Float64Array(0)
  #ends: Uint32Array = new Uint32Array(0)
  /** Where a pause interrupted: no document before it matches. */
  #resumeAt = 0

  constructor(
    column: ColumnReader,
    options: { docCount: number; test: ColumnTest; score: number; poll: Poll },
  ) {
    this.#column = column
    this.cost = options.docCount
    this.#passes = options.test.passes
    this.#score = options.score
    this.#poll = options.poll
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    let doc = Math.max(target, this.#resumeAt)
    for (; doc < this.cost; doc += 1) {
      if (doc >= this.#to) {
        if (this.#poll.isDue) {
          this.#resumeAt = doc
          return PAUSED
        }
        this.#read(doc)
      }
      const at = doc - this.#from
      const first = at === 0 ? 0 : u32At(this.#ends, at - 1)
      if (this.#passes(this.#values, first, u32At(this.#ends, at))) break
    }
    this.doc = doc < this.cost ? doc : NO_MORE
    return this.doc
  }

  score(): number {
    return this.#score
  }

  #read(doc: number): void {
    const isNext = doc === this.#to
    const size = isNext ? Math.min(CHUNK_MAX, (this.#to - this.#from) * 2) : CHUNK_MIN
    this.#from = doc
    this.#to = Math.min(doc + Math.max(size, CHUNK_MIN), this.cost)
    const { values, ends } = this.#column.read(this.#from, this.#to)
    this.#values = values
    this.#ends = ends
    this.#poll.spend(this.#to - this.#from + values.length)
  }
}
