// A text index in this process, in memory: what an index worker holds for one shard.

import { unreachable } from '../../../lib/assert.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { TextIndex } from '../../../node/index/text/engine/text-index.ts'
import {
  highlightTexts,
  type IndexedFields,
} from '../../../node/index/text/highlight/highlighter.ts'
import { FieldMapping } from '../../../node/index/text/mapping/field-mapping.ts'
import {
  gatherTextStatistics,
  runTextSearch,
} from '../../../node/index/text/search/run-text-search.ts'
import { runTextSelect } from '../../../node/index/text/search/run-text-select.ts'
import { suggestWords } from '../../../node/index/text/suggest/suggest-words.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchAnswer,
  TextSearchRequest,
} from '../../../node/index/text/search/text-search.ts'
import type { TextAsked } from '../../../node/index/text/search/text-questions.ts'
import type { TableSchema } from '../../../node/schema/table-schema.ts'
import type { TextStatistics } from '../../../node/index/text/search/text-search.ts'

export type Documents = Readonly<Record<string, JsonObject>>

export class MemoryTextIndex {
  readonly index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
  readonly mapping: FieldMapping
  readonly #schema: TableSchema | undefined
  /** By key. A document keeps its ordinal, as in a shard. */
  readonly #ordinals = new Map<string, number>()
  #sequence = 0

  constructor(documents: Documents = {}, schema?: TableSchema) {
    this.mapping = new FieldMapping(schema)
    this.#schema = schema
    this.write(documents)
  }

  get #fields(): IndexedFields {
    const { analysis, fields } = this.mapping
    return { schema: this.#schema, analysis, fields }
  }

  write(documents: Documents, deletes: readonly string[] = []): void {
    this.#sequence += 1
    this.index.apply({
      sequence: this.#sequence,
      upserts: Object.entries(documents).map(([key, document]) => ({
        ...this.mapping.mapDocument(Buffer.from(key), document, 0),
        ordinal: this.#ordinalOf(key),
      })),
      deletes: deletes.map((key) => Buffer.from(key)),
    })
  }

  #ordinalOf(key: string): number {
    const ordinal = this.#ordinals.get(key) ?? this.#ordinals.size
    this.#ordinals.set(key, ordinal)
    return ordinal
  }

  /** Through a structured clone both ways, as between threads. */
  search(request: TextSearchRequest): TextSearchAnswer {
    return structuredClone(runAtOnce(runTextSearch(this, structuredClone(request))))
  }

  highlight(request: TextHighlightRequest): readonly (Highlights | undefined)[] {
    return runAtOnce(highlightTexts(structuredClone(request), this.#fields))
  }

  answer(asked: TextAsked): unknown {
    switch (asked.question) {
      case 'search':
        return runAtOnce(runTextSearch(this, asked.request))
      case 'statistics':
        return runAtOnce(gatherTextStatistics(this, asked.request))
      case 'select':
        return runAtOnce(runTextSelect(this, asked.request))
      case 'highlight':
        return runAtOnce(highlightTexts(asked.request, this.#fields))
      case 'suggest':
        return runAtOnce(suggestWords(this, asked.request))
      default:
        return unreachable(asked)
    }
  }

  statistics(conditions: TextSearchRequest['conditions']): TextStatistics {
    return structuredClone(runAtOnce(gatherTextStatistics(this, { conditions })))
  }
}

export const EVERYTHING: TextSearchRequest = {
  conditions: { query: undefined, filter: undefined, exclusion: undefined, keyPrefix: undefined },
  order: [{ field: '_score', isDescending: true }],
  window: { kind: 'first', limit: 10 },
  aggregations: new Map(),
  statistics: undefined,
  nowMs: 1_700_000_000_000,
}
