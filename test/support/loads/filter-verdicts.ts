// What a filter selects of the documents of filter-world.ts, by each way that a shard has to decide it. All ways are
// one meaning, so that a planted copy of the code can be compared with itself.

import { isServiceError } from '../../../lib/errors.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { parseExact, stringifyExact, type JsonObject } from '../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../node/document/json-object.ts'
import {
  DocumentTester,
  type TestedTable,
} from '../../../node/index/text/documents/document-tester.ts'
import { runTextSelect } from '../../../node/index/text/search/run-text-select.ts'
import { NO_CONDITIONS, type TextConditions } from '../../../node/index/text/search/text-search.ts'
import { parseQuery } from '../../../node/query/language/parse-query.ts'
import { FILTERED_DOCUMENTS, FILTERED_SCHEMA, SPELLINGS } from '../worlds/filter-world.ts'
import { EVERYTHING, MemoryTextIndex } from '../worlds/memory-text-index.ts'

export const STORED: readonly (readonly [string, JsonObject])[] = Object.entries(
  FILTERED_DOCUMENTS,
).map(([key, document]) => [key, objectOf(JSON.stringify(document))])

/** To test each document by itself takes long: one filter of ALONE_STEP is asked so. */
const ALONE_STEP = 8

/** A table without a list of fields, as one without a full-text index. */
const UNDECIDED: TestedTable = { schema: undefined, fields: [] }

const KEYS = STORED.map(([key]) => key)

/** The keys that pass, or the refusal. */
export type Verdict = readonly string[] | 'refused'

/** How `tested` asks. */
export interface Testing {
  readonly table?: TestedTable
  /** How many documents are tested together. */
  readonly batch?: number
  readonly change?: (document: JsonObject) => JsonObject
  /** The key of the only document; all of them if it is absent. */
  readonly only?: string
}

/** An index of the documents, in which others were replaced and deleted, and what is asked beside it. */
export class FilterVerdicts {
  readonly index = new MemoryTextIndex({}, FILTERED_SCHEMA)
  readonly table: TestedTable
  #asked = 0

  constructor() {
    // The documents come first, because the first value of a field decides its type.
    this.index.write(Object.fromEntries(STORED))
    const others = STORED.map(([key], i) => [key, STORED[(i + 1) % STORED.length]?.[1] ?? {}])
    this.index.write(Object.fromEntries(others))
    const twins = STORED.map(([key, document]) => [`twin of ${key}`, document] as const)
    this.index.write(Object.fromEntries([...STORED, ...twins]))
    this.index.write(
      {},
      twins.map(([key]) => key),
    )
    this.table = { schema: FILTERED_SCHEMA, fields: this.index.mapping.fields }
  }

  /** What an index selects. */
  indexed(filter: object): Verdict {
    return this.#found({ ...NO_CONDITIONS, filter: queryOf(filter) })
  }

  /** What passes without an index. */
  tested(filter: object, testing: Testing = {}): Verdict {
    const { table = this.table, batch = 50, change, only } = testing
    return verdict(() => {
      const tester = openTester(filter, table)
      const stored = STORED.filter(([key]) => only === undefined || key === only)
      const documents = stored.map(([key, document]) => ({
        key: Buffer.from(key),
        json: Buffer.from(stringifyExact(change?.(document) ?? document)),
      }))
      const passed: boolean[] = []
      for (let at = 0; at < documents.length; at += batch) {
        passed.push(...runAtOnce(tester.test(documents.slice(at, at + batch))))
      }
      return stored.flatMap(([key], at) => (passed[at] === true ? [key] : []))
    })
  }

  /** The ways that differ from what an index selects, for a person to read; undefined if there are none. */
  differenceOf(filter: object): string | undefined {
    const found = this.indexed(filter)
    const count = found === 'refused' ? found : found.length
    const wants = { keys: found, count, sameness: true }
    for (const [way, wanted, said] of this.#ways(filter)) {
      const expected = wants[wanted]
      if (JSON.stringify(said) !== JSON.stringify(expected)) {
        return `${way}: ${JSON.stringify({ filter, expected, said })}`
      }
    }
    return undefined
  }

  /** Filters that are written differently and mean the same. */
  differenceOfSpellings(): string | undefined {
    for (const spellings of SPELLINGS) {
      const [first, ...others] = spellings.map((filter) => ({ filter, said: this.indexed(filter) }))
      const other = others.find(({ said }) => JSON.stringify(said) !== JSON.stringify(first?.said))
      if (other !== undefined) return JSON.stringify({ first, other })
    }
    return undefined
  }

  *#ways(filter: object): Generator<readonly [string, 'keys' | 'count' | 'sameness', unknown]> {
    const query = queryOf(filter)
    const scored = { ...NO_CONDITIONS, query }
    const filtered = { ...NO_CONDITIONS, filter: query }
    yield ['a search', 'keys', this.#found(scored)]
    yield ['an exclusion', 'keys', this.#leftBy(query)]
    yield ['a count', 'count', this.#counted(scored, 0)]
    yield ['the total of a page', 'count', this.#counted(scored, 1)]
    yield ['a count of a filter', 'count', this.#counted(filtered, 0)]
    yield ['a selection', 'count', this.#selected(filtered)]
    yield ['a test of all together', 'keys', this.tested(filter)]
    yield ['a test one by one', 'keys', this.tested(filter, { batch: 1 })]
    // Where nothing is decided, each document decides for itself, whatever the tester has seen before.
    if (this.#asked++ % ALONE_STEP !== 0) return
    const alone = STORED.flatMap(([key]) => this.#testedAlone(filter, key))
    const together = this.tested(filter, { table: UNDECIDED })
    yield ['a test of documents that decide', 'sameness', isSame(alone, together)]
  }

  /** By a tester of its own. A refusal is one of every document. */
  #testedAlone(filter: object, key: string): Verdict {
    return this.tested(filter, { table: UNDECIDED, only: key })
  }

  #found(conditions: TextConditions): Verdict {
    return verdict(() => {
      const window = { kind: 'first', limit: 100 } as const
      const { hits } = this.index.search({ ...EVERYTHING, conditions, window })
      return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
    })
  }

  #leftBy(exclusion: TextConditions['exclusion']): Verdict {
    const left = this.#found({ ...NO_CONDITIONS, exclusion })
    return left === 'refused' ? left : KEYS.filter((key) => !left.includes(key))
  }

  #counted(conditions: TextConditions, limit: number): number | 'refused' {
    return verdict(() => {
      const window = { kind: 'first', limit } as const
      return this.index.search({ ...EVERYTHING, conditions, window }).total
    })
  }

  #selected(conditions: TextConditions): number | 'refused' {
    const { nowMs } = EVERYTHING
    return verdict(() => runAtOnce(runTextSelect(this.index, { conditions, nowMs })).count)
  }
}

function isSame(alone: readonly string[], together: Verdict): boolean {
  // A document without the field refuses nothing.
  if (together === 'refused') return alone.includes('refused')
  return JSON.stringify(alone) === JSON.stringify(together)
}

export function openTester(filter: object, table: TestedTable): DocumentTester {
  return runAtOnce(DocumentTester.open(table, { ...NO_CONDITIONS, filter: queryOf(filter) }))
}

function queryOf(filter: object) {
  return parseQuery(parseExact(JSON.stringify(filter)), 'filter_query')
}

function verdict<Answer>(ask: () => Answer): Answer | 'refused' {
  try {
    return ask()
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return 'refused'
    throw error
  }
}

export function objectOf(text: string): JsonObject {
  const value = parseExact(text)
  if (!isJsonObject(value)) throw new Error('not an object')
  return value
}
