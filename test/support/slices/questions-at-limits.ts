// Each question to each kind of index, of the sorts that cost an index most. A kind or a question without a row does not
// compile. Their steps are what is looked at: longer requests of the same sorts make more of them, not longer ones.

import { seededRandom } from '../../../lib/random.ts'
import type { JsonObject, JsonValue } from '../../../node/document/exact-json.ts'
import type {
  IndexQuestions,
  QueryableKind,
  QuestionOf,
} from '../../../node/index/kinds/index-questions.ts'
import type { DocumentChange } from '../../../node/index/host/document-batch.ts'
import type { TextConditions } from '../../../node/index/text/search/text-search.ts'
import { parseAggregations } from '../../../node/query/request/aggregation-request.ts'
import { parseQuery } from '../../../node/query/language/parse-query.ts'
import type { NearestRequest, SparseRequest } from '../../../node/index/vector/vector-search.ts'
import { countTo } from '../loads/load.ts'
import { EVERYTHING } from '../worlds/memory-text-index.ts'
import { putSparse, randomSparse, recordedSparse, SPARSE_SETTINGS } from '../worlds/sparse-world.ts'
import { putVectors, recordedSettings } from '../worlds/vector-documents.ts'

/** By name, requests that make the index work as long as a client can. */
type Requests<Request> = Readonly<Record<string, Request>>

interface KindAtLimits<Kind extends QueryableKind> {
  /** What the definition of the index has besides. */
  readonly settings?: unknown
  /** In the order of their writing, as the log of a shard brings them. */
  changes(): readonly DocumentChange[]
  readonly questions: {
    readonly [Name in QuestionOf<Kind>]: IndexQuestions[Kind][Name] extends {
      readonly request: infer Request
    }
      ? Requests<Request>
      : never
  }
}

const DOCUMENTS = 4000
const WORDS_EACH = 8
const PAGE_MAX = 10_000
const IDS_MAX = 10_000
/** In all as many different ones as one answer may have, and more. */
const TAGS_EACH = 20
const LONG_WORDS = 30_000

const wordOf = (n: number): string => `w${(n * 7919 + 1e6).toString(36)}`
const wordsFrom = (first: number, count: number): string =>
  countTo(count)
    .map((n) => wordOf(first + n))
    .join(' ')

function documentOf(n: number): JsonObject {
  return {
    body: `same ${wordsFrom(n * WORDS_EACH, WORDS_EACH)}`,
    title: `sea ${n % 700} chart ${n % 13}`,
    n,
    price: (n * 37) % 1000,
    tags: countTo(TAGS_EACH).map((at) => wordOf(n * TAGS_EACH + at)),
    at: new Date(1.6e12 + n * 3_600_000).toISOString(),
    place: { lat: (n % 170) - 85, lon: (n % 350) - 175 },
  }
}

/** One of the documents is long: a phrase has many occurrences in it. */
const LONG: JsonObject = { body: 'round and '.repeat(LONG_WORDS), title: 'long', n: -1 }

const conditions = (query: JsonValue, more: Partial<TextConditions> = {}): TextConditions => ({
  ...EVERYTHING.conditions,
  query: parseQuery(query, 'query'),
  ...more,
})
const searching = (query: JsonValue, more: Partial<typeof EVERYTHING> = {}) => ({
  ...EVERYTHING,
  conditions: conditions(query),
  ...more,
})
const counting = (aggregations: JsonValue) =>
  searching(ALL, {
    window: { kind: 'first', limit: 0 },
    aggregations: parseAggregations(aggregations, 'aggregations'),
  })

const ALL: JsonValue = { match_all: {} }
const TYPOS: JsonValue = { match: wordsFrom(20_000, 60), field: 'body', fuzziness: 2 }
const PHRASE: JsonValue = { match_phrase: wordsFrom(3, 20), field: 'body', fuzziness: 2, slop: 10 }
const PATTERNS: JsonValue = {
  disjuncts: countTo(8).map((n) => ({ regexp: `.*(a|b)+${n}x[0-9]*y`, field: 'body' })),
}
const WILDCARDS: JsonValue = {
  disjuncts: countTo(20).map((n) => ({ wildcard: `*${n}*`, field: 'body' })),
}
const RANGES: JsonValue = {
  conjuncts: countTo(200).map((n) => ({ min: -n, max: DOCUMENTS + n, field: 'n' })),
}
const IDS: JsonValue = { ids: countTo(IDS_MAX).map((n) => `key that may be there ${n}`) }
const AREA: JsonValue = {
  location: { lat: 0, lon: 0 },
  distance: '9000km',
  field: 'place',
}

const ORDER = ['price', 'title.keyword', 'at.keyword', 'n'].map((field) => ({
  field,
  isDescending: true,
}))
const TERMS: JsonValue = { type: 'terms', field: 'body.keyword', size: 65_536 }

const text: KindAtLimits<'text'> = {
  changes: () => changesOf([...countTo(DOCUMENTS).map(documentOf), LONG]),
  questions: {
    search: {
      'many misspelt words': searching(TYPOS),
      'a phrase of misspelt words': searching(PHRASE),
      'a phrase with many occurrences': searching({
        match_phrase: 'round and round and round',
        field: 'body',
        slop: 50,
      }),
      patterns: searching(PATTERNS),
      wildcards: searching(WILDCARDS),
      'many ranges': searching(RANGES),
      'many keys': searching(IDS),
      'a large area': searching(AREA),
      'the largest page, by four fields': searching(ALL, {
        order: ORDER,
        window: { kind: 'first', limit: PAGE_MAX },
      }),
      'the largest page, by score': searching(
        { match: 'same sea chart', field: 'body' },
        { window: { kind: 'first', limit: PAGE_MAX } },
      ),
      'every term': counting({ terms: TERMS }),
      'every term within others': counting({
        titles: {
          type: 'terms',
          field: 'title.keyword',
          size: 1000,
          sub_aggregations: { terms: TERMS },
        },
      }),
      'terms that are frequent in others': counting({
        words: { type: 'significant_terms', field: 'tags.keyword', size: 1000 },
      }),
      'every one of many terms': counting({
        tags: { type: 'terms', field: 'tags.keyword', size: 65_536 },
      }),
      'many numbers of values': counting(
        Object.fromEntries(
          countTo(20).map((n) => [`c${n}`, { type: 'cardinality', field: 'body.keyword' }]),
        ),
      ),
    },
    statistics: {
      'many misspelt words': { conditions: conditions(TYPOS) },
      'a phrase of misspelt words': { conditions: conditions(PHRASE) },
      patterns: { conditions: conditions(PATTERNS, { filter: parseQuery(WILDCARDS, 'filter') }) },
    },
    select: {
      everything: { conditions: conditions(ALL), nowMs: EVERYTHING.nowMs },
      patterns: { conditions: conditions(PATTERNS), nowMs: EVERYTHING.nowMs },
      'many keys': { conditions: conditions(IDS), nowMs: EVERYTHING.nowMs },
    },
    highlight: {
      'long documents': {
        query: parseQuery(TYPOS, 'query'),
        highlight: { fields: undefined, pre: '<b>', post: '</b>' },
        documents: countTo(8).map((n) =>
          Buffer.from(JSON.stringify({ body: wordsFrom(n * 9000, 9000) })),
        ),
      },
      'the most documents': {
        query: parseQuery(WILDCARDS, 'query'),
        highlight: { fields: undefined, pre: '<b>', post: '</b>' },
        documents: countTo(64).map((n) => Buffer.from(JSON.stringify(documentOf(n)))),
      },
    },
    suggest: {
      'the most misspelt words': {
        query: parseQuery({ match: wordsFrom(900_000, 64), field: 'body' }, 'query'),
      },
    },
  },
}

const DIMENSION = 384
const VECTORS = 6000
const random = seededRandom(7)
const vectorAt = (): Float32Array => Float32Array.from({ length: DIMENSION }, () => random() - 0.5)
const nearest = (more: Partial<NearestRequest> = {}): NearestRequest => {
  return { vector: vectorAt(), limit: HITS_MAX, effort: 1, nowMs: 0, ...more }
}
const HITS_MAX = 10_000
const EVERY_SECOND = new Uint32Array(Math.ceil(VECTORS / 32)).fill(0x55555555)

const vectors: KindAtLimits<'vectors'> = {
  settings: recordedSettings({
    dimension: DIMENSION,
    metric: 'cosine',
    engine: 'usearch',
    quantization: 'f16',
  }),
  changes: () =>
    countTo(VECTORS).map((n) => {
      const rows = countTo(1 + (n % 2)).map(() => ({ vector: vectorAt() }))
      return putVectors({ key: `k${n}`, ordinal: n, rows, expiresAtMs: n % 3 })
    }),
  questions: {
    nearest: {
      'the most hits': nearest(),
      'as many as a graph answers': nearest({ limit: 3000 }),
      'next to exact': nearest({ limit: 10 }),
      'those that pass': nearest({ filter: { kind: 'bitmap', from: 0, words: EVERY_SECOND } }),
      'the few that pass': nearest({
        filter: { kind: 'list', ordinals: Uint32Array.from(countTo(4000)) },
      }),
      'those far away': nearest({ distanceOver: 1.1 }),
      'those that have not expired': nearest({ limit: 100, nowMs: 1 }),
    },
  },
}

const VOCABULARY = 30_000
const TERMS_EACH = 40
const QUERY_TERMS_MAX = 4096
const sparseAt = (terms: number) => randomSparse(random, { vocabulary: VOCABULARY, terms })
const sparseNearest = (terms: number, more: Partial<SparseRequest> = {}): SparseRequest => {
  return { vector: sparseAt(terms), limit: HITS_MAX, nowMs: 0, ...more }
}

/** The same kind with the other form of vectors. */
export const SPARSE_AT_LIMITS: KindAtLimits<'vectors'> = {
  settings: recordedSparse(SPARSE_SETTINGS),
  changes: () =>
    countTo(VECTORS * 2).map((n) => {
      const rows = countTo(1 + (n % 2)).map(() => sparseAt(TERMS_EACH))
      return putSparse({ key: `k${n}`, ordinal: n, vectors: rows, expiresAtMs: n % 3 })
    }),
  questions: {
    nearest: {
      'the most hits': sparseNearest(30),
      'the most terms': sparseNearest(QUERY_TERMS_MAX),
      'the most terms, few hits': sparseNearest(QUERY_TERMS_MAX, { limit: 10 }),
      'few hits': sparseNearest(30, { limit: 10 }),
      'those that pass': sparseNearest(30, {
        filter: { kind: 'bitmap', from: 0, words: EVERY_SECOND },
      }),
      'the few that pass': sparseNearest(30, {
        filter: { kind: 'list', ordinals: Uint32Array.from(countTo(4000)) },
      }),
      'those that have not expired': sparseNearest(30, { limit: 100, nowMs: 1 }),
    },
  },
}

/** The kinds of the product; tests add one of their own. */
export type ProductKind = Exclude<QueryableKind, 'exact'>

/** A new kind adds its row here. */
export const AT_LIMITS: { readonly [Kind in ProductKind]: KindAtLimits<Kind> } = { text, vectors }

function changesOf(documents: readonly JsonObject[]): readonly DocumentChange[] {
  return documents.map((document, n) => ({
    key: Buffer.from(`k${n}`),
    json: Buffer.from(JSON.stringify(document)),
    expiresAtMs: 0,
  }))
}
