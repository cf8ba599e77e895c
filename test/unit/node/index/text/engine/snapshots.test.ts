// Searches that span slices, against everything that may come between two of them: the naive index
// is copied when a snapshot is taken, and the snapshot must agree with the copy from then on.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce, type Paced } from '../../../../../../lib/sliced.ts'
import type { IndexableDocument } from '../../../../../../node/index/text/indexable-document.ts'
import type { SearchSnapshot } from '../../../../../../node/index/text/engine/search-snapshot.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { NaiveTextIndex } from '../../../../../support/fakes/naive-text-index.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'
import { TextGenerator } from '../../../../../support/loads/text-generator.ts'
import {
  describing,
  expectPages,
  expectVisits,
  TINY_LIMITS,
} from '../../../../../support/worlds/text-world.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

const { seed: baseSeed } = parseTestSettings(process.env)
const WORLDS = 16
const STEPS = 200
const HELD_MAX = 4

describe(`a snapshot of a text index (QUARRY_TEST_SEED=${baseSeed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-snapshots-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('gives the same answers after later changes, flushes and merges', () => {
    for (let seed = baseSeed; seed < baseSeed + WORLDS; seed += 1) {
      describing({ QUARRY_TEST_SEED: seed }, () => {
        const isDurable = seed % 2 === 0
        const world = new World(seed, isDurable ? path.join(directory, String(seed)) : undefined)
        for (let step = 0; step < STEPS; step += 1) world.step()
        world.end()
      })
    }
  }).timeout(240_000)

  it('shows a document of any size as a whole or not at all', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    index.apply({ sequence: 1, upserts: [longDocument('k', 'before', 3)], deletes: [] })

    const seen = new Set<string>()
    let steps = 0
    const upserts = [longDocument('k', 'behind', 50_000)]
    for (const _ of index.applyInSteps({ sequence: 2, upserts, deletes: [] })) {
      seen.add(foundIn(index))
      steps += 1
    }

    expect(steps).to.be.greaterThan(20)
    expect([...seen]).to.deep.equal(['before 3', 'behind 50000'])
  })

  it('works after its index is closed, and releases the files when it is released', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock() })
    index.apply({ sequence: 1, upserts: [longDocument('k', 'before', 30_000)], deletes: [] })
    index.flush()
    index.close()

    const [asked, released] = [1, 2].map(() => {
      const opened = TextIndex.open({ directory, clock: new ManualClock() })
      const snapshot = opened.snapshot()
      opened.close()
      return snapshot
    })
    const found = foundIn(atOnce(asked!))
    released?.release()

    expect(found).to.equal('before 30000')
    expect(() => foundIn(atOnce(released!))).to.throw('EBADF')
    asked?.release()
  })

  it('keeps the postings that a search walks while their terms grow', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const write = (key: string, word: string, length = 3): void => {
      const upserts = [longDocument(key, word, length)]
      index.apply({ sequence: 1, upserts, deletes: [] })
    }
    write('many terms, so that there is room for those that follow', 'other', 2000)
    for (const key of ['a', 'b', 'c']) write(key, 'before')
    const snapshot = index.snapshot()

    const source = snapshot.segments[0]?.term('body', 'before')?.source
    const seen = new Set<string>()
    for (let i = 0; i < 50; i += 1) {
      write(`d${i}`, i % 3 === 0 ? 'before' : `w${i % 3}`)
      const docs = new Uint32Array(128)
      seen.add(docs.subarray(0, source?.decodeDocs(0, docs)).join())
    }
    snapshot.release()

    expect([...seen]).to.deep.equal(['1,2,3'])
  })
})

/** The document says `word` at its end, behind so many others; its tags are many, too. */
function longDocument(key: string, word: string, length: number): IndexableDocument {
  const tokens = Array.from({ length }, (_, position) => ({ term: `t${position}`, position }))
  const tags = tokens.map(({ term }) => term)
  return {
    key: Buffer.from(key),
    expiresAtMs: 0,
    fields: [
      {
        kind: 'text',
        name: 'body',
        tokens: tokenListOf([...tokens, { term: word, position: length }]),
        length,
      },
      { kind: 'keyword', name: 'tags', values: tags },
    ],
  }
}

function foundIn(index: Pick<TextIndex, 'search' | 'collect'>): string {
  const found: string[] = []
  for (const term of ['before', 'behind']) {
    const query = { kind: 'term', field: 'body', term, boost: 1 } as const
    index.collect({ query, nowMs: 1 }, ({ segment }, docs) => {
      for (const doc of docs) found.push(`${term} ${segment.field('tags')?.column?.count(doc)}`)
    })
  }
  return found.join(', ')
}

interface Held {
  readonly snapshot: SearchSnapshot
  readonly naive: NaiveTextIndex
}

/** One index under change, and snapshots of it that are asked time and again. */
class World {
  readonly #make: TextGenerator
  readonly #index: TextIndex
  readonly #naive = new NaiveTextIndex()
  #held: Held[] = []
  #applying: { readonly work: Paced<void>; apply(): void } | undefined
  #sequence = 0

  constructor(seed: number, directory: string | undefined) {
    this.#make = new TextGenerator(seededRandom(seed), { words: 8, keys: 20, tokensMax: 6 })
    this.#index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
  }

  step(): void {
    const chance = this.#make.below(10)
    if (chance < 4) this.#writeABit()
    else if (chance < 6) this.#index.maintain(0)
    else if (chance === 6 && this.#applying === undefined) this.#index.beginFlush()
    else if (chance === 7) this.#hold()
    else if (chance === 8) this.#release()
    this.#ask()
  }

  end(): void {
    while (this.#applying !== undefined) this.#writeABit()
    this.#index.flush()
    while (this.#index.maintain(1));
    this.#ask()
    this.#index.close()
    this.#ask()
    while (this.#held.length > 0) this.#release()
  }

  /** A few steps of a batch with one change, which is there when the batch is done. */
  #writeABit(): void {
    this.#applying ??= this.#newBatch()
    const applying = this.#applying
    for (let steps = 1 + this.#make.below(6); steps > 0; steps -= 1) {
      if (applying.work.next().done !== true) continue
      applying.apply()
      this.#applying = undefined
      return
    }
  }

  #newBatch(): { work: Paced<void>; apply(): void } {
    this.#sequence += 1
    const sequence = this.#sequence
    if (this.#make.below(5) === 0) {
      const key = this.#make.key()
      const work = this.#index.applyInSteps({ sequence, upserts: [], deletes: [key] })
      return { work, apply: () => this.#naive.delete(key) }
    }
    const document = this.#document()
    const work = this.#index.applyInSteps({ sequence, upserts: [document], deletes: [] })
    return { work, apply: () => this.#naive.upsert(document) }
  }

  /** One in forty is so long that adding it takes several steps. */
  #document(): IndexableDocument {
    const document = this.#make.document()
    if (this.#make.below(40) > 0) return document
    const tokens = Array.from({ length: 4500 }, (_, position) => ({
      term: this.#make.word(),
      position,
    }))
    const others = document.fields.filter(({ name }) => name !== 'body')
    const length = tokens.length
    const body = { kind: 'text', name: 'body', tokens: this.#make.tokens(tokens), length } as const
    return { ...document, fields: [...others, body] }
  }

  /** Between two batches: in the midst of one the change may be there already. */
  #hold(): void {
    if (this.#held.length >= HELD_MAX) return
    while (this.#applying !== undefined && this.#make.below(4) > 0) this.#writeABit()
    if (this.#applying !== undefined) return
    const naive = new NaiveTextIndex()
    for (const document of this.#naive.documents.values()) naive.upsert(document)
    this.#held.push({ snapshot: this.#index.snapshot(), naive })
  }

  #release(): void {
    const released = this.#held.splice(this.#make.below(this.#held.length), 1)
    for (const { snapshot } of released) snapshot.release()
  }

  #ask(): void {
    const make = this.#make
    const { snapshot, naive } = this.#held[make.below(this.#held.length)] ?? {}
    if (snapshot === undefined || naive === undefined) return
    for (let asks = 0; asks < 2; asks += 1) {
      const query = make.query()
      const sort = make.below(2) === 0 ? make.sortFields() : undefined
      const asked = { query, nowMs: make.nowMs(), ...(sort === undefined ? {} : { sort }) }
      describing(asked, () => {
        const expected = naive.search(asked)
        expectPages(atOnce(snapshot), { ...asked, limit: make.limit(), countTotal: true }, expected)
        expectVisits(atOnce(snapshot), { query, nowMs: asked.nowMs }, expected)
      })
    }
  }
}

/** A snapshot that answers in one step, as an index does. */
function atOnce(snapshot: SearchSnapshot): Pick<TextIndex, 'search' | 'collect'> {
  return {
    search: (request) => runAtOnce(snapshot.search(request)),
    collect: (request, visit) => runAtOnce(snapshot.collect(request, visit)),
  }
}
