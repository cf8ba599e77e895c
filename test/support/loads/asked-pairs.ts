// Random documents and queries, each twice: as the API takes them, and as test/support/fakes/naive-text-index.ts does.

import type { Random } from '../../../lib/random.ts'
import type { EngineQuery } from '../../../node/index/text/engine-query.ts'
import type { IndexableDocument } from '../../../node/index/text/indexable-document.ts'
import { tokenListOf } from '../worlds/field-tokens.ts'
import { countTo } from './load.ts'
import { valueOf, wordOf } from './script-texts.ts'

const KEYS = 60
/** More than there are scripts, so that some words begin others. */
const WORDS = 30
const TOKENS_MAX = 10
const TAGS = ['t0', 'T1', 'té', wordOf(1), ...countTo(12).map((n) => valueOf(n * 5 + 4))]
const RANKS = 20

/** The schema of the documents. */
export const PAIRS_SCHEMA = {
  default_type: 'page',
  document_schemas: {
    page: {
      schema: {
        type: 'object',
        properties: {
          body: { type: 'string', 'x-service-types': ['text'] },
          tag: { type: 'array', items: { type: 'string', 'x-service-types': ['keyword'] } },
          rank: { type: 'number' },
        },
      },
    },
  },
}

/** Keys of many scripts begin on each side of these. */
export const PAIRS_SPLIT_KEYS = ['n', 'п', '京']
const PREFIXES = ['a', 'o', ...countTo(40).map((n) => valueOf(n * 3 + 1))]

export interface QueryPair {
  readonly asked: object
  readonly engine: EngineQuery
}

export interface DocumentPair {
  readonly key: string
  readonly json: object
  readonly indexed: IndexableDocument
}

const NO_PARTS = { must: [], should: [], minShould: 0, mustNot: [], filter: [] }

export class PairGenerator {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  key(): string {
    const n = this.below(KEYS)
    return `${PREFIXES[n % PREFIXES.length] ?? ''}${n}`
  }

  document(): DocumentPair {
    const most = TOKENS_MAX * (this.below(5) === 0 ? 6 : 1)
    const words = countTo(1 + this.below(most)).map(() => this.#word())
    const tag = [...new Set(countTo(this.below(3)).map(() => this.#pick(TAGS)))]
    const rank = this.below(RANKS)
    const key = this.key()
    const tokens = tokenListOf(words.map((term, position) => ({ term, position })))
    const fields: IndexableDocument['fields'] = [
      { kind: 'text', name: 'body', tokens, length: words.length },
      { kind: 'keyword', name: 'tag', values: tag },
      { kind: 'number', name: 'rank', values: [rank] },
    ]
    return {
      key,
      json: { body: words.join(' '), tag, rank },
      indexed: { key: Buffer.from(key), expiresAtMs: 0, fields },
    }
  }

  query(depth = 2): QueryPair {
    const boost = this.below(3) === 0 ? 0.5 + this.below(4) : 1
    switch (this.below(depth > 0 ? 9 : 6)) {
      case 0:
        return this.#term(boost)
      case 1:
      case 2:
        return this.#match(boost)
      case 3:
        return this.#phrase(boost)
      case 4:
        return this.#range(boost)
      case 5:
        return this.#keys(boost)
      case 6:
        return this.#conjunction(depth, boost)
      case 7:
        return this.#disjunction(depth, boost)
      default:
        return this.#boolean(depth, boost)
    }
  }

  #term(boost: number): QueryPair {
    const [field, term] = this.below(3) === 0 ? ['tag', this.#pick(TAGS)] : ['body', this.#word()]
    return { asked: { term, field, boost }, engine: { kind: 'term', field, term, boost } }
  }

  #match(boost: number): QueryPair {
    const words = [...new Set(countTo(2 + this.below(3)).map(() => this.#word()))]
    const operator = this.below(2) === 0 ? 'or' : 'and'
    const terms = words.map((term): EngineQuery => ({ kind: 'term', field: 'body', term, boost }))
    const parts = operator === 'or' ? { should: terms, minShould: 1 } : { must: terms }
    return {
      asked: { match: words.join(' '), field: 'body', operator, boost },
      engine: { kind: 'boolean', ...NO_PARTS, ...parts, boost: 1 },
    }
  }

  #phrase(boost: number): QueryPair {
    const words = countTo(2 + this.below(2)).map(() => this.#word())
    const slop = this.below(4)
    const positions = words.map((term, offset) => ({ offset, terms: [term] }))
    return {
      asked: { match_phrase: words.join(' '), field: 'body', slop, boost },
      engine: { kind: 'phrase', field: 'body', positions, slop, boost },
    }
  }

  #range(boost: number): QueryPair {
    const min = this.below(RANKS)
    const max = min + this.below(RANKS / 2)
    return {
      asked: { min, max, inclusive_min: true, inclusive_max: true, field: 'rank', boost },
      engine: { kind: 'range', field: 'rank', min, max, boost },
    }
  }

  #keys(boost: number): QueryPair {
    const ids = [...new Set(countTo(20).map(() => this.key()))]
    const keys = ids.map((id) => Buffer.from(id))
    return { asked: { ids, boost }, engine: { kind: 'keys', keys, boost } }
  }

  #conjunction(depth: number, boost: number): QueryPair {
    const parts = this.#parts(depth, 2)
    return {
      asked: { conjuncts: parts.map(({ asked }) => asked), boost },
      engine: { kind: 'boolean', ...NO_PARTS, must: parts.map(({ engine }) => engine), boost },
    }
  }

  #disjunction(depth: number, boost: number): QueryPair {
    const parts = this.#parts(depth, 3)
    const min = 1 + this.below(parts.length)
    const should = parts.map(({ engine }) => engine)
    return {
      asked: { disjuncts: parts.map(({ asked }) => asked), min, boost },
      engine: { kind: 'boolean', ...NO_PARTS, should, minShould: min, boost },
    }
  }

  #boolean(depth: number, boost: number): QueryPair {
    const [must, should, mustNot] = [
      this.#parts(depth, 1),
      this.#parts(depth, 2),
      this.#parts(0, 1),
    ]
    const min = this.below(2)
    const listed = (pairs: readonly QueryPair[]): readonly object[] =>
      pairs.map(({ asked }) => asked)
    const engines = (pairs: readonly QueryPair[]): readonly EngineQuery[] =>
      pairs.map(({ engine }) => engine)
    return {
      asked: {
        must: { conjuncts: listed(must) },
        should: { disjuncts: listed(should), min },
        must_not: { disjuncts: listed(mustNot) },
        boost,
      },
      engine: {
        kind: 'boolean',
        must: engines(must),
        should: engines(should),
        minShould: min,
        mustNot: engines(mustNot),
        filter: [],
        boost,
      },
    }
  }

  /** At least one. */
  #parts(depth: number, most: number): readonly QueryPair[] {
    return countTo(1 + this.below(most)).map(() => this.query(depth - 1))
  }

  #word(): string {
    return wordOf(Math.floor(WORDS * this.#random() ** 2))
  }

  #pick(items: readonly string[]): string {
    return items[this.below(items.length)] ?? ''
  }
}
