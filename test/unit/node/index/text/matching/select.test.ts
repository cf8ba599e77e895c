import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { EngineQuery } from '../../../../../../node/index/text/engine-query.ts'
import type { SearchSnapshot } from '../../../../../../node/index/text/engine/search-snapshot.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import type { IndexableDocument } from '../../../../../../node/index/text/indexable-document.ts'
import {
  hasOrdinal,
  ORDINAL_LIST_END,
  OrdinalGatherer,
  type OrdinalSet,
} from '../../../../../../node/index/host/ordinal-set.ts'
import type { MatchRequest } from '../../../../../../node/index/text/matching/segment-search.ts'
import { NaiveTextIndex } from '../../../../../support/fakes/naive-text-index.ts'
import { TextGenerator } from '../../../../../support/loads/text-generator.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'
import { describing, TINY_LIMITS } from '../../../../../support/worlds/text-world.ts'

const { seed: baseSeed } = parseTestSettings(process.env)
const WORLDS = 12
const STEPS = 150

/** Its members, checked against the promise of the set's kind. */
function membersOf(set: OrdinalSet): readonly number[] {
  if (set.kind === 'list') {
    expect(set.ordinals.length).to.be.lessThan(ORDINAL_LIST_END)
    expect([...set.ordinals]).to.deep.equal([...set.ordinals].toSorted((a, b) => a - b))
    return [...set.ordinals]
  }
  expect(set.from % 32).to.equal(0)
  const members: number[] = []
  for (const [word, bits] of set.words.entries()) {
    for (let bit = 0; bit < 32; bit += 1) {
      if (((bits >>> bit) & 1) === 1) members.push(set.from + word * 32 + bit)
    }
  }
  return members
}

function ascending(ordinals: Iterable<number>): readonly number[] {
  return [...ordinals].toSorted((a, b) => a - b)
}

describe(`selecting documents (QUARRY_TEST_SEED=${baseSeed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-select-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('finds the same as a naive evaluation under updates, deletions, expiry and merges', () => {
    for (let seed = baseSeed; seed < baseSeed + WORLDS; seed += 1) {
      describing({ QUARRY_TEST_SEED: seed }, () => {
        const isDurable = seed % 2 === 0
        const world = new World(seed, isDurable ? path.join(directory, String(seed)) : undefined)
        for (let step = 0; step < STEPS; step += 1) world.step()
      })
    }
  }).timeout(240_000)

  it('gives a list for few and a bitmap for many', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const upserts = Array.from({ length: 6000 }, (_, i) => numbered(i, 7 * i))
    index.apply({ sequence: 1, upserts: upserts.slice(0, 4000), deletes: [] })
    index.flush()
    index.apply({ sequence: 2, upserts: upserts.slice(4000), deletes: [Buffer.from('k17')] })

    for (const end of [0, 1, 18, ORDINAL_LIST_END, ORDINAL_LIST_END + 1, 5000, 6000]) {
      const { count, unnumbered, set } = selected(index, { query: below(end), nowMs: 1 })
      const expected = Array.from({ length: end }, (_, i) => 7 * i).filter((one) => one !== 119)
      expect(membersOf(set), `below ${end}`).to.deep.equal(expected)
      expect({ count, unnumbered }).to.deep.equal({ count: expected.length, unnumbered: 0 })
      expect(set.kind).to.equal(expected.length < ORDINAL_LIST_END ? 'list' : 'bitmap')
      for (const one of [0, 7, 8, 119, 7 * 4094, 7 * 5999, 2 ** 32 - 1]) {
        expect(hasOrdinal(set, one), `${one}`).to.equal(expected.includes(one))
      }
    }
  })

  it('selects keys by prefix through their dictionary', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const upserts = Array.from({ length: 300 }, (_, i) => numbered(i, i))
    index.apply({ sequence: 1, upserts, deletes: [] })
    index.flush()

    const query = { kind: 'key-prefix', prefix: Buffer.from('k29'), boost: 1 } as const
    const { set } = selected(index, { query, nowMs: 1 })

    expect(membersOf(set)).to.deep.equal([29, ...Array.from({ length: 10 }, (_, i) => 290 + i)])
  })

  it('counts documents without an ordinal apart, also those of a merged segment', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
    const every = { query: { kind: 'all', boost: 1 }, nowMs: 1 } as const
    const old = Array.from({ length: 100 }, (_, i) => ({ ...numbered(i, i), ordinal: undefined }))
    index.apply({ sequence: 1, upserts: old, deletes: [] })
    index.flush()
    expect(selected(index, every)).to.deep.include({ count: 0, unnumbered: 100 })

    for (let round = 0; round < 4; round += 1) {
      const upserts = [numbered(round, 1000 + round), numbered(200 + round, round)]
      index.apply({ sequence: 2 + round, upserts, deletes: [] })
      index.flush()
      while (index.maintain(1));
    }

    const { count, unnumbered, set } = selected(index, every)
    expect({ count, unnumbered }).to.deep.equal({ count: 8, unnumbered: 96 })
    expect(membersOf(set)).to.deep.equal([0, 1, 2, 3, 1000, 1001, 1002, 1003])
    index.close()
  })

  it('pauses in the midst of a large selection', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const upserts = Array.from({ length: 40_000 }, (_, i) => numbered(i, i))
    index.apply({ sequence: 1, upserts, deletes: [] })
    const snapshot = index.snapshot()

    const steps = [...snapshot.select({ query: { kind: 'all', boost: 1 }, nowMs: 1 })].length

    expect(steps).to.be.at.least(1)
    snapshot.release()
  })
})

describe('a set of ordinals', () => {
  it('holds memory only for the range in use', () => {
    const gatherer = new OrdinalGatherer()
    const first = 2 ** 32 - 100_000
    for (let i = 0; i < 50_000; i += 1) gatherer.add(first + 2 * i)

    const set = runAtOnce(gatherer.finish())

    expect(set.kind === 'bitmap' && set.words.length * 32).to.be.lessThan(3 * 2 ** 16)
    expect(hasOrdinal(set, first)).to.equal(true)
    expect(hasOrdinal(set, first + 1)).to.equal(false)
    expect(hasOrdinal(set, first + 99_998)).to.equal(true)
    expect(hasOrdinal(set, 5)).to.equal(false)
  })
})

function numbered(number: number, ordinal: number): IndexableDocument {
  const fields = [{ kind: 'number', name: 'n', values: [number] }] as const
  return { key: Buffer.from(`k${number}`), expiresAtMs: 0, ordinal, fields }
}

function below(end: number): EngineQuery {
  return { kind: 'range', field: 'n', min: 0, max: end - 1, boost: 1 }
}

function selected(index: TextIndex, request: MatchRequest) {
  const snapshot = index.snapshot()
  try {
    return runAtOnce(snapshot.select(request))
  } finally {
    snapshot.release()
  }
}

/** An index under change, and a model of it; now and then a snapshot is kept for later questions. */
class World {
  readonly #make: TextGenerator
  readonly #index: TextIndex
  readonly #naive = new NaiveTextIndex()
  #held: { readonly snapshot: SearchSnapshot; readonly naive: NaiveTextIndex } | undefined
  #sequence = 0
  #nextOrdinal = 0

  constructor(seed: number, directory: string | undefined) {
    this.#make = new TextGenerator(seededRandom(seed), { words: 8, keys: 30, tokensMax: 6 })
    this.#index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
  }

  step(): void {
    const chance = this.#make.below(10)
    if (chance < 6) this.#write()
    else if (chance === 6) this.#index.flush()
    else if (chance === 7) this.#index.maintain(0)
    else if (chance === 8) this.#hold()
    const snapshot = this.#index.snapshot()
    this.#ask(snapshot, this.#naive)
    snapshot.release()
    if (this.#held !== undefined) this.#ask(this.#held.snapshot, this.#held.naive)
  }

  #write(): void {
    const upserts: IndexableDocument[] = []
    const deletes: Uint8Array[] = []
    if (this.#make.below(4) === 0) deletes.push(this.#make.key())
    for (const key of deletes) this.#naive.delete(key)
    for (let i = this.#make.below(4); i > 0; i -= 1) {
      const document = this.#numbered(this.#make.document())
      this.#naive.upsert(document)
      upserts.push(document)
    }
    this.#sequence += 1
    this.#index.apply({ sequence: this.#sequence, upserts, deletes })
  }

  /** An update keeps the ordinal; one document in ten has none. */
  #numbered(document: IndexableDocument): IndexableDocument {
    const before = this.#naive.get(document.key)
    if (before?.ordinal !== undefined) return { ...document, ordinal: before.ordinal }
    if (this.#make.below(10) === 0) return document
    this.#nextOrdinal += 1 + this.#make.below(3)
    return { ...document, ordinal: this.#nextOrdinal }
  }

  #hold(): void {
    this.#held?.snapshot.release()
    const naive = new NaiveTextIndex()
    for (const document of this.#naive.documents.values()) naive.upsert(document)
    this.#held = { snapshot: this.#index.snapshot(), naive }
  }

  #ask(snapshot: SearchSnapshot, naive: NaiveTextIndex): void {
    const make = this.#make
    const filter = make.below(2) === 0 ? make.query() : undefined
    const query = make.below(4) === 0 ? ({ kind: 'all', boost: 1 } as const) : make.query()
    const asked = { query, nowMs: make.nowMs(), ...(filter === undefined ? {} : { filter }) }
    describing(asked, () => {
      const hits = naive.search(asked).map(({ key }) => naive.get(Buffer.from(key, 'latin1')))
      const ordinals = hits.map((hit) => hit?.ordinal).filter((one) => one !== undefined)

      const { count, unnumbered, set } = runAtOnce(snapshot.select(asked))

      expect(membersOf(set)).to.deep.equal(ascending(ordinals))
      expect({ count, unnumbered }).to.deep.equal({
        count: ordinals.length,
        unnumbered: hits.length - ordinals.length,
      })
    })
  }
}
