// One text index, the documents it should hold, and the checks that compare the two.

import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { SearchHit, SearchRequest } from '../../../node/index/text/matching/search.ts'
import type { MatchRequest } from '../../../node/index/text/matching/segment-search.ts'
import type { TextIndexLimits } from '../../../node/index/text/engine/text-index-options.ts'
import { TextIndex, type TextBatch } from '../../../node/index/text/engine/text-index.ts'
import { NaiveTextIndex, type NaiveHit } from '../fakes/naive-text-index.ts'
import { TextGenerator, type TextSizes } from '../loads/text-generator.ts'

/** Segments of a few documents, which are merged all the time. */
export const TINY_LIMITS: TextIndexLimits = {
  memorySegmentBytesMax: 12_288,
  mergePolicy: {
    segmentsPerTier: 3,
    smallestBytes: 1024,
    largestBytes: 2 ** 30,
    deletedRatioMax: 0.3,
  },
}

export interface TextWorldOptions {
  readonly random: Random
  readonly sizes: TextSizes
  /** Undefined: in memory. */
  readonly directory?: string | undefined
  readonly limits?: TextIndexLimits
}

export class TextWorld {
  readonly make: TextGenerator
  readonly naive = new NaiveTextIndex()
  readonly #directory: string | undefined
  readonly #limits: TextIndexLimits
  /** What a crash may take: the batches above the last checkpoint that was seen. */
  #log: TextBatch[] = []
  #sequence = 0
  index: TextIndex

  constructor({ random, sizes, directory, limits = TINY_LIMITS }: TextWorldOptions) {
    this.make = new TextGenerator(random, sizes)
    this.#directory = directory
    this.#limits = limits
    this.index = this.#open()
  }

  /** Some new documents, some replaced, some deleted. */
  write(upsertsMax = 20): void {
    const { make } = this
    const upserts = Array.from({ length: make.below(upsertsMax) }, () => make.document())
    const deletes = Array.from({ length: make.below(6) }, () => make.key())
    this.#sequence += 1
    const batch = { sequence: this.#sequence, upserts, deletes }
    this.#log.push(batch)
    this.index.apply(batch)
    for (const key of deletes) this.naive.delete(key)
    for (const document of upserts) this.naive.upsert(document)
  }

  /** Flushes, merges, ends cleanly or crashes, or does nothing. */
  disturb(): void {
    const chance = this.make.below(10)
    if (chance === 0) this.index.flush()
    else if (chance === 1) this.index.maintain(1)
    else if (chance < 4) this.#maintainABit()
    else if (chance === 4) this.#reopen()
    else if (chance === 5) this.#crash()
  }

  /** One random search, both its pages, and perhaps every match. */
  checkSearch(): void {
    const { make } = this
    const query = make.query()
    const filter = make.below(5) === 0 ? make.query(0) : undefined
    const sort = make.below(3) === 0 ? make.sortFields() : undefined
    const nowMs = make.nowMs()
    const match = { query, nowMs, ...(filter === undefined ? {} : { filter }) }
    const asked = { ...match, ...(sort === undefined ? {} : { sort }) }
    const countTotal = make.below(2) === 0
    const limit = make.limit()
    describing({ ...asked, limit, countTotal }, () => {
      const expected = this.naive.search(asked)
      expectPages(this.index, { ...asked, limit, countTotal }, expected)
      if (make.below(4) === 0) expectVisits(this.index, match, expected)
    })
    expect(this.index.stats().documents).to.equal(this.naive.documents.size)
  }

  close(): void {
    this.index.close()
  }

  /** Writes and searches fall between the steps of a flush or a merge. */
  #maintainABit(): void {
    for (let steps = this.make.below(8); steps > 0; steps -= 1) this.index.maintain(0)
  }

  #reopen(): void {
    if (this.#directory === undefined) return
    this.index.flush()
    this.index.close()
    this.index = this.#open()
    expect(this.index.checkpoint).to.equal(this.#sequence)
  }

  /** Nothing is flushed: whatever came after the checkpoint is applied again. */
  #crash(): void {
    if (this.#directory === undefined) return
    this.index.close()
    this.index = this.#open()
    const { checkpoint } = this.index
    this.#log = this.#log.filter(({ sequence }) => sequence > checkpoint)
    const lost = this.make.below(2) === 0 ? this.#log : [this.#newest()]
    for (const batch of lost) this.index.apply(batch)
  }

  /** Replays like a shard's log: the present document of each touched key. */
  #newest(): TextBatch {
    const touched = this.#log.flatMap(({ upserts, deletes }) => [
      ...upserts.map(({ key }) => key),
      ...deletes,
    ])
    const documents = touched.map((key) => this.naive.get(key))
    const upserts = documents.filter((document) => document !== undefined)
    const deletes = touched.filter((_, i) => documents[i] === undefined)
    return { sequence: this.#sequence, upserts, deletes }
  }

  #open(): TextIndex {
    const [directory, limits] = [this.#directory, this.#limits]
    return TextIndex.open({ directory, clock: new ManualClock(), limits })
  }
}

/** A page and the one behind it hold what the naive index has there. */
export function expectPages(
  index: Pick<TextIndex, 'search'>,
  asked: Omit<SearchRequest, 'after'>,
  expected: readonly NaiveHit[],
): void {
  const { limit, countTotal, sort } = asked
  const page = index.search(asked)

  expectSame(page.hits, expected.slice(0, limit))
  if (countTotal || sort !== undefined) expect(page.total).to.equal(expected.length)
  else expect(page.total).to.be.at.most(expected.length)
  const after = page.hits.at(-1)
  if (after === undefined) return
  expectSame(index.search({ ...asked, after }).hits, expected.slice(limit, 2 * limit))
}

export function expectVisits(
  index: Pick<TextIndex, 'collect'>,
  match: MatchRequest,
  expected: readonly NaiveHit[],
): void {
  const visited: string[] = []
  index.collect(match, ({ segment }, docs) => {
    for (const doc of docs) visited.push(segment.key(doc))
  })
  expect(visited.toSorted()).to.deep.equal(expected.map(({ key }) => key).toSorted())
}

export function expectSame(found: readonly SearchHit[], expected: readonly NaiveHit[]): void {
  const keys = found.map(({ key }) => Buffer.from(key).toString('latin1'))
  expect(keys).to.deep.equal(expected.map(({ key }) => key))
  for (const [i, { score, sortValues }] of found.entries()) {
    const other = expected[i]!
    // The promise is 1e-4; scores are single precision, so that this is about what they have.
    expect(score).to.be.closeTo(other.score, 1e-6 * Math.max(1, other.score))
    if (other.sortValues !== undefined) expectValues(sortValues, other.sortValues)
  }
}

function expectValues(found: SearchHit['sortValues'], expected: SearchHit['sortValues']): void {
  expect(found.length).to.equal(expected.length)
  for (const [i, value] of found.entries()) {
    const other = expected[i]
    if (typeof value === 'number' && typeof other === 'number') {
      expect(value).to.be.closeTo(other, 1e-6 * Math.max(1, Math.abs(other)))
    } else {
      expect(value).to.equal(other)
    }
  }
}

/** A failure of `check` shows what was asked. */
export function describing(asked: object, check: () => void): void {
  try {
    check()
  } catch (error) {
    throw new Error(`${String(error)}\nasked: ${JSON.stringify(asked)}`, { cause: error })
  }
}
