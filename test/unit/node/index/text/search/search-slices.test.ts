// Searches, statistics and highlights in steps: what they cost shows in how often they pause.

import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../../lib/errors.ts'
import { runAtOnce, type Sliced } from '../../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { highlightTexts } from '../../../../../../node/index/text/highlight/highlighter.ts'
import {
  gatherTextStatistics,
  runTextSearch,
} from '../../../../../../node/index/text/search/run-text-search.ts'
import type {
  TextHighlightRequest,
  TextSearchRequest,
} from '../../../../../../node/index/text/search/text-search.ts'
import { packBatch } from '../../../../../../node/index/host/document-batch.ts'
import { STOP_REASONS, type ToIndex } from '../../../../../../node/index/host/protocol.ts'
import { openTextFamily } from '../../../../../../node/index/text/hosted/text-family.ts'
import { IndexHost } from '../../../../../../node/index/worker/index-host.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import type { JsonObject, JsonValue } from '../../../../../../node/document/exact-json.ts'
import { parseTableSchema, type TableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const WORDS_INDEX = { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false } as const
const WORDS = 6000
const words = (count: number, tail = '') =>
  Array.from({ length: count }, (_, i) => `w${(i * 7919 + 1e6).toString(36)}${tail}`).join(' ')

const PAGES = schemaOf({ page: { type: 'string', 'x-service-types': ['html'] } })
const CORPUS = new MemoryTextIndex(
  Object.fromEntries(
    Array.from({ length: WORDS / 10 }, (_, i) => [
      `k${i}`,
      {
        body: words(WORDS)
          .split(' ')
          .slice(i * 10, i * 10 + 10)
          .join(' '),
        n: i,
      },
    ]),
  ),
)

function conditionsOf(query: JsonValue): TextSearchRequest['conditions'] {
  return { ...EVERYTHING.conditions, query: parseQuery(query, 'query') }
}

function searchOf(query: JsonValue) {
  return runTextSearch(CORPUS, { ...EVERYTHING, conditions: conditionsOf(query) })
}

function pausesOf(work: Sliced<unknown>): number {
  let pauses = 0
  for (const _ of work) pauses += 1
  return pauses
}

describe('a search in steps', () => {
  it('gives the same answer as a search at once', () => {
    const query = { match: words(30), field: 'body', fuzziness: 2 }

    const inSteps = searchOf(query)
    let step = inSteps.next()
    // Another search comes between any two steps.
    while (step.done !== true) {
      runAtOnce(searchOf({ match_all: {} }))
      step = inSteps.next()
    }

    expect(step.value).to.deep.equal(runAtOnce(searchOf(query)))
    expect(step.value.total).to.be.above(20)
  })

  it('pauses in proportion to the comparisons of fuzzy words', () => {
    const few = pausesOf(searchOf({ match: words(3), field: 'body', fuzziness: 2 }))
    const many = pausesOf(searchOf({ match: words(30), field: 'body', fuzziness: 2 }))

    expect(few).to.be.above(10)
    expect(many).to.be.within(few * 5, few * 20)
  })

  it('pauses in proportion to the work of a regular expression', () => {
    // Which of the last 60 characters was an "a" is another state nearly each time.
    const documents = Array.from({ length: 500 }, (_, i) => [
      `k${i}`,
      { ab: lettersOf(i).repeat(4) },
    ])
    const binary = new MemoryTextIndex(Object.fromEntries(documents))
    const pausesFor = (query: JsonValue) =>
      pausesOf(runTextSearch(binary, { ...EVERYTHING, conditions: conditionsOf(query) }))

    const cheap = pausesFor({ wildcard: '*a*c', field: 'ab' })
    const costly = pausesFor({ regexp: '(a|b)*a(a|b){60}c', field: 'ab' })

    expect(costly).to.be.above(20 * (cheap + 1))
  })

  it('pauses in the statistics of a fuzzy phrase', () => {
    const conditions = conditionsOf({ match_phrase: words(20), field: 'body', fuzziness: 2 })

    expect(pausesOf(gatherTextStatistics(CORPUS, { conditions }))).to.be.above(50)
  })

  it('pauses within one document with many occurrences of a phrase', () => {
    const text = 'round and '.repeat(100_000)
    const one = new MemoryTextIndex({ k: { body: text } })
    const query = { match_phrase: 'round and round and round', field: 'body' }
    const work = runTextSearch(one, { ...EVERYTHING, conditions: conditionsOf(query) })

    let pauses = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) pauses += 1

    expect(pauses).to.be.above(5)
    expect(step.value.total).to.equal(1)
  })
})

describe('highlights in steps', () => {
  const few = Array.from(
    { length: 40 },
    (_, i) => `abcdef${String.fromCharCode(97 + (i % 26))}gh${i % 7}`,
  )
  const body = Array.from({ length: 7000 }, (_, i) => few[i % 40]).join(' ')
  const documents = [Buffer.from(JSON.stringify({ body: `needle ${body}` }))]
  const highlight = { fields: undefined, pre: '[', post: ']' }
  const fuzzy = Array.from({ length: 200 }, (_, i) => `abcxyz${(i * 31).toString(36)}`).join(' ')
  const query = parseQuery(
    {
      disjuncts: [
        { match: 'needle', field: 'body' },
        { match: fuzzy, field: 'body', fuzziness: 2 },
      ],
    },
    'query',
  )

  it('test each different word once', () => {
    const pauses = pausesOf(
      highlightTexts({ query, highlight, documents }, { schema: undefined, fields: [] }),
    )

    // 7,000 words against 200 would be a million and more tests.
    expect(pauses).to.be.within(2, 40)
  })

  it('mark the same words as at once', () => {
    const [marked] = runAtOnce(
      highlightTexts({ query, highlight, documents }, { schema: undefined, fields: [] }),
    )

    expect(marked?.['body']?.[0]).to.match(/^\[needle\] abcdefagh0/)
  })

  it('keep the entities and tags of a page whole', () => {
    const html = `<p>${'caf&eacute; <b class="a">x</b> '.repeat(40)} needle ${'&#111;&amp;'.repeat(60)}</p>`
    const page = [Buffer.from(JSON.stringify({ page: html }))]
    const asked = parseQuery({ match: 'needle', field: 'page' }, 'query')

    const [marked] = runAtOnce(
      highlightTexts({ query: asked, highlight, documents: page }, { schema: PAGES, fields: [] }),
    )

    const fragment = marked?.['page']?.[0] ?? ''
    expect(fragment).to.include('[needle]')
    expect(fragment.replaceAll(/<[^<>]*>|&#?\w+;/g, '')).to.not.match(/[<>&;]/)
  })
})

describe('a host of indexes', () => {
  const stopped = new Int32Array(new SharedArrayBuffer(4))
  const conditions = conditionsOf(fuzzyPhrase())
  const about = { id: 2, index: 1 } as const
  const questions: readonly ToIndex[] = [
    {
      ...about,
      kind: 'search',
      request: { request: { ...EVERYTHING, conditions }, stop: stopped },
    },
    { ...about, kind: 'statistics', request: { request: { conditions }, stop: stopped } },
    { ...about, kind: 'highlight', request: { request: longHighlight(), stop: stopped } },
  ]

  for (const question of questions) {
    it(`ends a ${question.kind} at its next step when its time is up`, () => {
      const host = openHost()
      Atomics.store(stopped, 0, STOP_REASONS.none)

      const work = host.handle(question)
      const first = work.next()
      Atomics.store(stopped, 0, STOP_REASONS.deadline)
      let thrown: unknown
      try {
        work.next()
      } catch (error) {
        thrown = error
      }

      expect(first.done).to.equal(false)
      expect(isServiceError(thrown) && thrown.code).to.equal('DEADLINE_EXCEEDED')
    })
  }
})

function schemaOf(properties: JsonObject): TableSchema {
  const schema = { type: 'object', properties }
  return parseTableSchema({ default_type: 'x', document_schemas: { x: { schema } } }, undefined)
}

/** Different for each number: its bits. */
function lettersOf(i: number): string {
  return (i ** 4 + 2 ** 40).toString(2).replaceAll('0', 'a').replaceAll('1', 'b')
}

function openHost(): IndexHost {
  const clock = new ManualClock()
  const host = new IndexHost({
    families: { text: openTextFamily },
    clock,
    memoryBytesMax: 64 * 2 ** 20,
    disk: DISK_WORK_HERE,
    onBroken: () => undefined,
  })
  const changes = Array.from({ length: 300 }, (_, i) => ({
    key: Buffer.from(`k${i}`),
    json: Buffer.from(JSON.stringify({ body: words(i + 10).slice(-200) })),
    expiresAtMs: 0,
  }))
  const schema = schemaOf({ body: { type: 'string', 'x-service-types': ['text'] } })
  const source = { kind: 'given', schema } as const
  const [id, index] = [1, 1]
  runAtOnce(
    host.handle({
      id,
      index,
      kind: 'open',
      request: { definition: WORDS_INDEX, directory: undefined, source, fields: [] },
    }),
  )
  const batch = packBatch(1, changes)
  runAtOnce(host.handle({ id, index, kind: 'apply', request: { batch } }))
  return host
}

/** Hundreds of misspelt words looked for among thousands of different ones. */
function longHighlight(): TextHighlightRequest {
  const fuzzy = { match: words(300, 'q'), field: 'body', fuzziness: 2 }
  return {
    query: parseQuery(fuzzy, 'query'),
    highlight: { fields: undefined, pre: '[', post: ']' },
    documents: [Buffer.from(JSON.stringify({ body: words(8000) }))],
  }
}

function fuzzyPhrase(): JsonValue {
  return { match_phrase: words(50, 'q'), field: 'body', fuzziness: 2 }
}
