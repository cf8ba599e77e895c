// The engine against BM25's formula applied document by document: random corpora, queries, updates,
// flushes, merges and reopenings. A failure names its seed: give it as `baseSeed` to run it again.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import type { EngineQuery } from '../../node/index/text/engine-query.ts'
import type { IndexableDocument } from '../../node/index/text/indexable-document.ts'
import type { SearchResult } from '../../node/index/text/engine/search.ts'
import { defaultTextIndexLimits, TextIndex } from '../../node/index/text/engine/text-index.ts'
import { NaiveTextIndex, type NaiveHit } from '../doubles/naive-text-index.ts'

const ROUNDS = 150
const STEPS = 30
const NOW_MS = 1000

const limits = {
  ...defaultTextIndexLimits,
  mergePolicy: { ...defaultTextIndexLimits.mergePolicy, segmentsPerTier: 3 },
}

class World {
  readonly random: Random
  readonly naive = new NaiveTextIndex()
  readonly directory: string | undefined
  readonly words: number
  readonly keys: number
  index: TextIndex
  sequence = 0

  constructor(seed: number, directory: string | undefined) {
    this.random = seededRandom(seed)
    this.directory = directory
    this.words = 3 + this.below(30)
    this.keys = this.below(8) === 0 ? 1000 : 10 + this.below(200)
    this.index = this.#open()
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound)
  }

  /** Frequent words are likelier. */
  word(): string {
    return `w${Math.floor(this.words * this.random() ** 2)}`
  }

  key(): Uint8Array {
    return Buffer.from(`k${this.below(this.keys)}${this.below(3) === 0 ? 'é' : ''}`, 'utf8')
  }

  document(): IndexableDocument {
    const textLength = this.below(12) === 0 ? 0 : 1 + this.below(this.below(5) === 0 ? 80 : 12)
    let position = -1
    const tokens = Array.from({ length: textLength }, () => {
      position += this.below(6) === 0 ? 2 : 1
      return { term: this.word(), position }
    })
    const few = <T>(make: () => T): T[] => Array.from({ length: this.below(3) }, make)
    return {
      key: this.key(),
      expiresAtMs: this.below(8) === 0 ? NOW_MS - 50 + this.below(100) : 0,
      fields: [
        { kind: 'text', name: 'body', tokens, length: textLength },
        { kind: 'keyword', name: 'tag', values: few(() => `t${this.below(5)}`) },
        { kind: 'number', name: 'rank', values: few(() => this.below(20) / 2) },
        {
          kind: 'point',
          name: 'place',
          values: few(() => ({ lon: this.below(20), lat: this.below(20) })),
        },
      ],
    }
  }

  query(depth = 2): EngineQuery {
    const boost = this.below(3) === 0 ? 0.5 + this.below(4) : 1
    const parts = (most: number): EngineQuery[] =>
      Array.from({ length: this.below(most + 1) }, () => this.query(depth - 1))
    const words = (most: number): EngineQuery[] =>
      Array.from({ length: 1 + this.below(most) }, () => this.#termQuery())
    const none = { must: [], should: [], minShould: 0, mustNot: [], filter: [] }
    switch (this.below(depth > 0 ? 10 : 5)) {
      case 0:
      case 1:
      case 2:
        return this.#constantQuery(boost)
      case 3:
        return this.#phrase(boost)
      case 4:
        return this.#termQuery()
      case 5:
        return { kind: 'boolean', ...none, should: words(5), boost }
      case 6:
        return { kind: 'boolean', ...none, must: words(3), boost, mustNot: parts(1) }
      case 7:
        return { kind: 'best', parts: [this.query(depth - 1), ...parts(2)], boost }
      default: {
        const should = parts(3)
        const minShould = this.below(should.length + 1)
        const lists = { must: parts(2), should, mustNot: parts(1), filter: parts(1) }
        return { kind: 'boolean', ...lists, minShould, boost }
      }
    }
  }

  #constantQuery(boost: number): EngineQuery {
    switch (this.below(4)) {
      case 0:
        return { kind: 'expand', field: 'body', ...this.#expansion(), boost }
      case 1:
        return { kind: 'range', field: 'rank', min: this.below(8), max: 2 + this.below(8), boost }
      case 2:
        return this.#area(boost)
      default:
        return this.#keyQuery(boost)
    }
  }

  #keyQuery(boost: number): EngineQuery {
    const queries: readonly EngineQuery[] = [
      { kind: 'keys', keys: [this.key(), this.key()], boost },
      { kind: 'key-prefix', prefix: Buffer.from(`k${this.below(10)}`), boost },
      { kind: 'all', boost },
      { kind: 'none' },
    ]
    return queries[this.below(queries.length)]!
  }

  #termQuery(): EngineQuery {
    const boost = this.below(3) === 0 ? 0.5 + this.below(4) : 1
    return this.below(6) === 0
      ? { kind: 'term', field: 'tag', term: `t${this.below(6)}`, boost }
      : { kind: 'term', field: 'body', term: this.word(), boost }
  }

  #expansion() {
    const last = String(this.below(10))
    const matches = (term: string): boolean => term.endsWith(last)
    const prefix = this.below(2) === 0 ? 'w' : `w${this.below(3)}`
    return { matcher: { prefix, upTo: undefined, matches }, termsMax: 1000, shown: 'w*' }
  }

  #phrase(boost: number): EngineQuery {
    const length = 1 + this.below(3)
    const positions = Array.from({ length }, (_, i) => ({
      offset: this.below(8) === 0 ? i + 1 : i,
      terms: this.below(4) === 0 ? [this.word(), this.word()] : [this.word()],
    }))
    return { kind: 'phrase', field: 'body', positions, slop: this.below(4), boost }
  }

  #area(boost: number): EngineQuery {
    const west = this.below(15)
    const south = this.below(15)
    const box = { west, east: west + 6, south, north: south + 6 }
    const contains = (lon: number, lat: number): boolean =>
      lon >= west && lon <= west + 6 && lat >= south && lat <= south + 6
    return { kind: 'area', field: 'place', box, contains, boost }
  }

  write(): void {
    const count = this.below(3) === 0 ? this.below(this.keys) : this.below(20)
    const upserts = Array.from({ length: count }, () => this.document())
    const deletes = Array.from({ length: this.below(6) }, () => this.key())
    this.sequence += 1
    this.index.apply({ sequence: this.sequence, upserts, deletes })
    for (const key of deletes) this.naive.delete(key)
    for (const document of upserts) this.naive.upsert(document)
  }

  /** Everything is flushed before, so that nothing has to be replayed. */
  reopen(): void {
    if (this.directory === undefined) return
    this.index.flush()
    this.index.close()
    this.index = this.#open()
    expect(this.index.checkpoint).to.equal(this.sequence)
  }

  #open(): TextIndex {
    return TextIndex.open({ directory: this.directory, clock: new ManualClock(), limits })
  }
}

function expectSame(found: SearchResult, expected: readonly NaiveHit[], about: string): void {
  const keys = found.hits.map(({ key }) => Buffer.from(key).toString('latin1'))
  expect(keys, about).to.deep.equal(expected.map(({ key }) => key))
  for (const [i, { score }] of found.hits.entries()) {
    expect(score, about).to.be.closeTo(expected[i]!.score, 1e-4)
  }
}

function checkOneQuery(world: World, seed: number): void {
  const query = world.query()
  const filter = world.below(5) === 0 ? world.query(0) : undefined
  const expected = world.naive.search(query, NOW_MS, filter)
  const limit = world.below(4) === 0 ? 1 + world.below(2000) : 1 + world.below(12)
  const about = `seed ${seed} limit ${limit} ${JSON.stringify({ query, filter })}`
  const countTotal = world.below(2) === 0
  const request = { query, nowMs: NOW_MS, interrupt: () => undefined, limit, countTotal }
  const asked = filter === undefined ? request : { ...request, filter }

  const page = world.index.search(asked)

  expectSame(page, expected.slice(0, limit), about)
  if (countTotal) expect(page.total, about).to.equal(expected.length)
  else expect(page.total, about).to.be.at.most(expected.length)
  const after = page.hits.at(-1)
  if (after === undefined) return
  expectSame(world.index.search({ ...asked, after }), expected.slice(limit, 2 * limit), about)
}

describe('the text engine against the formula', () => {
  const baseSeed = Math.floor(Math.random() * 1e9)
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-differential-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  for (const place of ['in memory', 'on disk'] as const) {
    it(`finds the same documents with the same scores ${place} (seed ${baseSeed})`, () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const seed = baseSeed + round
        const own = place === 'on disk' ? path.join(directory, String(round)) : undefined
        const world = new World(seed, own)
        world.write()
        for (let step = 0; step < STEPS; step += 1) {
          const chance = world.below(10)
          if (chance < 3) world.write()
          else if (chance === 3) world.index.flush()
          else if (chance === 4) world.index.maintain(1)
          else if (chance === 5 && world.below(4) === 0) world.reopen()
          checkOneQuery(world, seed)
        }
        world.index.close()
      }
    }).timeout(60_000)
  }
})
