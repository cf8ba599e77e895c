// Searches in parts, of every kind of request, against the undivided search of the same moment.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { must } from '../../../../../../lib/assert.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { packBatch, type DocumentChange } from '../../../../../../node/index/host/document-batch.ts'
import type { EngineFamily, IndexEngine } from '../../../../../../node/index/host/index-engine.ts'
import { aggregationResults } from '../../../../../../node/index/text/aggregation/aggregation-result.ts'
import { openTextFamily } from '../../../../../../node/index/text/hosted/text-family.ts'
import { TEXT_INDEX } from '../../../../../../node/index/kinds/text-descriptor.ts'
import { unpackAnswer } from '../../../../../../node/index/text/search/packed-answer.ts'
import type {
  TextSearchAnswer,
  TextSearchRequest,
} from '../../../../../../node/index/text/search/text-search.ts'
import { parseQueryRequest } from '../../../../../../node/query/request/query-request.ts'
import type { TableField } from '../../../../../../node/schema/table-field.ts'
import { IndexReader } from '../../../../../support/worlds/index-reader.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const KEYS = 80
const NOW_MS = 1_700_000_000_000
const WORDS = ['tide', 'tides', 'tidal', 'road', 'roads', 'sea', 'quay', 'harbour', 'pilot', 'sand']
const DIVISION = must(TEXT_INDEX.division, 'text indexes divide searches')
const text = (query: JsonObject): JsonObject => ({ full_text_search: query })
const SEA = text({ match: 'sea tide', field: 'text' })

/** Bodies of queries, and whether a part of the index in memory lets them be divided. */
const BODIES: Readonly<Record<string, { readonly body: JsonObject; readonly isDivided: boolean }>> =
  {
    'absent field': { body: text({ match: 'sea', field: 'absent' }), isDivided: true },
    everything: { body: {}, isDivided: true },
    words: { body: SEA, isDivided: true },
    phrase: { body: text({ match_phrase: 'sea road', field: 'text' }), isDivided: true },
    fuzzy: { body: text({ term: 'tyde', field: 'text', fuzziness: 2 }), isDivided: true },
    prefix: { body: text({ prefix: 'tid', field: 'text' }), isDivided: true },
    'fuzzy phrase': {
      body: text({ match_phrase: 'tyde road', field: 'text', fuzziness: 1 }),
      isDivided: false,
    },
    wildcard: { body: text({ wildcard: 't*d?', field: 'text' }), isDivided: true },
    regexp: { body: text({ regexp: 'ti.*', field: 'text' }), isDivided: true },
    simple: {
      body: text({ simple: { query: 'tyde roads har', fields: ['text'] } }),
      isDivided: true,
    },
    'query string': { body: text({ query: 'text:sea -text:road^2 n:>10' }), isDivided: true },
    exclusion: {
      body: { ...SEA, exclusion_query: { match: 'quay', field: 'text' } },
      isDivided: true,
    },
    filter: { body: { ...SEA, filter_query: { min: 20, max: 80, field: 'n' } }, isDivided: true },
    sorted: { body: { ...SEA, order_by: [{ field: 'n', desc: true }] }, isDivided: true },
    'no hits': { body: { ...SEA, limit: 0 }, isDivided: true },
    metrics: {
      body: {
        limit: 0,
        aggregations: {
          stats: { type: 'stats', field: 'n' },
          distinct: { type: 'cardinality', field: 'n' },
        },
      },
      isDivided: true,
    },
    histogram: {
      body: {
        aggregations: {
          steps: {
            type: 'histogram',
            field: 'n',
            interval: 10,
            sub_aggregations: { most: { type: 'max', field: 'n' } },
          },
        },
      },
      isDivided: true,
    },
    terms: {
      body: { aggregations: { top: { type: 'terms', field: 'text.keyword', size: 3 } } },
      isDivided: false,
    },
  }
function requestOf(body: JsonObject): TextSearchRequest {
  const {
    fullText: query,
    filter,
    exclusion,
    keyPrefix,
    order,
    page,
    aggregations,
  } = parseQueryRequest(body)
  return {
    conditions: { query, filter, exclusion, keyPrefix },
    order,
    window: { kind: 'first', limit: page.limit },
    aggregations,
    statistics: undefined,
    nowMs: NOW_MS,
  }
}

describe(`a divided search (QUARRY_TEST_SEED=${seed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'divided-search-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  for (const [name, { body, isDivided }] of Object.entries(BODIES)) {
    it(`answers as an undivided one: ${name}`, () => {
      using world = new World(directory)
      let dividedCount = 0
      for (let step = 0; step < 30; step += 1) {
        world.goOn()
        if (world.isDivided(requestOf(body))) dividedCount += 1
        world.check(requestOf(body))
      }
      // What is not divided beside memory segments is asked of a reader when nothing is in memory.
      if (isDivided) expect(dividedCount).to.be.above(10)
      world.flush()
      expect(world.isDivided(requestOf(body))).to.equal(true)
      world.check(requestOf(body))
    }).timeout(120_000)
  }

  it('is not worth its messages for few documents, beside what is in memory', () => {
    using world = new World(directory, 1000)
    for (let step = 0; step < 20; step += 1) world.goOn()
    const beside = world.isDivided(requestOf(SEA))
    world.flush()

    expect(beside).to.equal(false)
    expect(world.isDivided(requestOf(SEA))).to.equal(true)
  })

  it('turns pages, forwards and backwards', () => {
    using world = new World(directory)
    for (let step = 0; step < 25; step += 1) world.goOn()
    for (const order_by of [undefined, [{ field: 'n' }], [{ field: '_id', desc: true }]]) {
      const first = requestOf({ ...SEA, limit: 5, ...(order_by && { order_by }) })
      const { hits } = world.check(first)
      const last = must(hits.at(-1), 'a hit')
      const position = { values: last.sortValues, key: last.key }
      const next = world.check({ ...first, window: { kind: 'after', position, limit: 5 } })
      const back = world.check({ ...first, window: { kind: 'before', position, limit: 3 } })

      expect(next.hits).to.have.length(5)
      expect(back.hits).to.deep.equal(hits.slice(1, 4))
    }
  })

  it('does not find what expires in either part', () => {
    using world = new World(directory)
    world.apply([expiring('a', 5), expiring('b', 50)])
    world.flush()
    world.apply([expiring('c', 5), expiring('d', 50)])

    const { total } = world.check({ ...requestOf({}), nowMs: NOW_MS + 10 })

    expect(total).to.equal(3) // with the first document of the world
  })

  it('releases its files when a search is left at any step', () => {
    // The seed decides how many segments remain after the merges: a history without searches says it.
    const expected = segmentsAfter(path.join(directory, 'unasked'), () => undefined)
    const remaining = segmentsAfter(path.join(directory, 'asked'), (world) => {
      for (let steps = 0; steps < 3; steps += 1) world.leave(requestOf(SEA), steps)
    })

    expect(remaining).to.deep.equal(expected)
  })
})

/** The files of segments after a history that `between` is called in the middle of. */
function segmentsAfter(directory: string, between: (world: World) => void): string[] {
  mkdirSync(directory)
  using world = new World(directory)
  for (let step = 0; step < 10; step += 1) world.goOn()
  // A segment on disk whose file merges remove later.
  world.flush()
  const before = segmentsIn(directory)
  between(world)
  for (let step = 0; step < 10; step += 1) world.goOn()
  world.flush()
  world.replaceAll()
  while (world.engine.maintain());
  const after = segmentsIn(directory)
  expect(after).to.not.include.members(before)
  return after
}

function segmentsIn(directory: string): string[] {
  return readdirSync(directory).filter((file) => file.endsWith('.segment'))
}

/** One index that documents are written to at random, and its reader. */
class World implements Disposable {
  readonly family: EngineFamily
  readonly engine: IndexEngine
  readonly #reader: IndexReader
  readonly #random = seededRandom(seed)
  readonly #fields: TableField[] = []
  #sequence = 0

  constructor(directory: string, dividedCostMin = 0) {
    const parts = { clock: new ManualClock(), memoryBytesMax: 2 ** 22, disk: DISK_WORK_HERE }
    this.family = openTextFamily(parts, { dividedCostMin })
    const definition = { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false }
    const source = { kind: 'given', schema: undefined } as const
    const opened = runAtOnce(this.family.open({ definition, directory, source, fields: [] }))
    if (opened.kind !== 'open') throw new TypeError(opened.outdated.reason)
    this.engine = opened.engine
    this.#reader = new IndexReader(this, DIVISION)
    this.apply([this.#document('k0')])
  }

  /** A batch, and perhaps a flush or a step of a merge. */
  goOn(): void {
    const count = 1 + this.#below(6)
    const keys = Array.from({ length: count }, () => `k${this.#below(KEYS)}`)
    const isRemoved = this.#below(4) === 0
    this.apply(keys.map((key) => (isRemoved ? removal(key) : this.#document(key))))
    const chance = this.#below(5)
    if (chance === 0) this.flush()
    if (chance === 1) this.engine.maintain()
    // The part in memory is never empty here.
    this.apply([this.#document(`k${this.#below(KEYS)}`)])
  }

  /** No document of an older segment remains. */
  replaceAll(): void {
    this.apply(Array.from({ length: KEYS }, (_, number) => this.#document(`k${number}`)))
    this.flush()
  }

  apply(changes: readonly DocumentChange[]): void {
    this.#sequence += 1
    for (let left = changes; ;) {
      const batch = packBatch(this.#sequence, left)
      const { taken, undecided } = runAtOnce(this.engine.apply(batch, () => undefined))
      if (taken === left.length) return
      this.#fields.push(...undecided)
      runAtOnce(this.engine.learn(this.#fields))
      left = left.slice(taken)
    }
  }

  flush(): void {
    runAtOnce(this.engine.flush(this.#sequence))
  }

  isDivided(request: TextSearchRequest): boolean {
    return this.#reader.find({ question: 'search', request }).isDivided
  }

  /** Expects both ways to agree, and answers what they say. */
  check(request: TextSearchRequest): TextSearchAnswer {
    const asked = { question: 'search', request } as const
    const whole: TextSearchAnswer = received(runAtOnce(this.engine.answer(asked)))
    const { answer } = this.#reader.find(asked)
    const [divided, undivided] = [shown(request, received(answer)), shown(request, whole)]
    // A part may tell of terms that only filters have, which no score depends on.
    expect({ ...divided, statistics: undefined }).to.deep.equal({
      ...undivided,
      statistics: undefined,
    })
    expect('statistics' in divided).to.equal('statistics' in undivided)
    return whole
  }

  leave(request: TextSearchRequest, steps: number): void {
    const work = must(
      this.engine.divide?.({ question: 'search', request }, undefined),
      'a division',
    )
    for (let step = 0; step < steps; step += 1) {
      const { done, value } = work.next()
      if (done !== true) continue
      if (value.kind === 'divided') value.release()
      return
    }
    work.return({ kind: 'whole', answer: undefined })
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]()
    this.engine.close()
  }

  #document(key: string): DocumentChange {
    const length = 1 + this.#below(8)
    const words = Array.from({ length }, () => WORDS[this.#below(WORDS.length)])
    const json = Buffer.from(JSON.stringify({ text: words.join(' '), n: this.#below(100) }))
    return { key: Buffer.from(key), json, expiresAtMs: 0 }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

/** With results in place of partials; sums of fractions differ in their last digits. */
function shown({ aggregations, nowMs }: TextSearchRequest, answer: TextSearchAnswer) {
  const results = aggregationResults(aggregations, answer.aggregations, nowMs)
  const rounded = JSON.stringify(results, (_, value: unknown) =>
    // Not at the middle between two numbers that tests are likely to meet.
    typeof value === 'number' ? Math.floor(value * 1e6 + 0.3) : value,
  )
  return { ...answer, aggregations: rounded }
}

/** It is of the type that the kind gives it. */
function received(answer: unknown): TextSearchAnswer {
  return runAtOnce(unpackAnswer(deserialize(serialize(answer))))
}

function removal(key: string): DocumentChange {
  return { key: Buffer.from(key), json: undefined, expiresAtMs: 0 }
}

function expiring(key: string, afterMs: number): DocumentChange {
  const json = Buffer.from(JSON.stringify({ text: 'sea', n: 1 }))
  return { key: Buffer.from(key), json, expiresAtMs: NOW_MS + afterMs }
}
