// Tests documents against conditions without the index that holds them: as the index does, because
// the same code does it. The documents of a batch become a small index in memory, by the mapping of
// the table, and the conditions are searched in it.
//
//   stored documents ──(the fields asked for)──► mapping ──► memory segment ──► matching documents
//
// Invariants:
//   D1  A field that the table has decided means here what it means in every index of the table.
//   D2  A field that the table has not decided is decided by the document itself. So the answer for
//       a document does not depend on the other documents of a batch.

import { ServiceError } from '../../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { JsonObject } from '../../../document/exact-json.ts'
import { CHUNKS_FIELD, SUMMARIES_FIELD } from '../../../document/special-names.ts'
import { positionsOf } from '../../../geo/shape.ts'
import { fieldNamesOf } from '../../../query/query-fields.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { TableField } from '../../../schema/table-field.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { BoundedCache } from '../../encoding/bounded-cache.ts'
import { SearchSnapshot } from '../engine/search-snapshot.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import { SegmentState } from '../live/segment-state.ts'
import { TermCache } from '../live/term-cache.ts'
import { FieldMapping } from '../mapping/field-mapping.ts'
import { keyText } from '../matching/set-query.ts'
import { ConditionResolver } from '../search/condition-resolver.ts'
import type { TextConditions } from '../search/text-search.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { AskedMembers } from './asked-members.ts'

/** Comparing two shapes of the most positions takes seconds, in one step. */
const POSITIONS_MAX = 1000
/** The bound of mappings for documents with fields that the table has not decided. */
const MAPPINGS_BYTES_MAX = 4 * 2 ** 20
/** What a mapping holds, and each field that it knows. */
const MAPPING_BYTES = 16 * 1024
const FIELD_BYTES = 512
const TERMS_BYTES_MAX = 2 ** 20
const DOCUMENTS_PER_STEP = 8
/** The documents exist for one search only, so they never expire. */
const NEVER_MS = 0

/** What the fields of a table mean. */
export interface TestedTable {
  readonly schema: TableSchema | undefined
  /** The table's list; see table-field.ts. */
  readonly fields: readonly TableField[]
}

/** `json` is a document as a table stores it. */
export interface TestedDocument {
  readonly key: Uint8Array
  readonly json: Buffer
}

/**
 * Tests documents against conditions. Contract:
 * - A document passes exactly if a text index of the table would find it, as far as the table has
 *   decided its fields (D1). The values of a field that it has not decided, as in a table without a
 *   text index, are what the document's own values say (D2); a value of a kind that the condition
 *   cannot test does not match.
 * - Throws INVALID_ARGUMENT for conditions that an index refuses, for fields that a schema leaves
 *   out of indexes, and for what the stored document does not have: chunks and summaries.
 * - Limits of one document in an index (values, fields) are not applied.
 */
export class DocumentTester {
  readonly #table: TestedTable
  readonly #conditions: TextConditions
  readonly #mapping: FieldMapping
  readonly #members: AskedMembers
  /** By the fields that a document decides for itself. */
  readonly #mappings = new BoundedCache<string, FieldMapping>(MAPPINGS_BYTES_MAX)

  static *open(table: TestedTable, conditions: TextConditions): Sliced<DocumentTester> {
    const tester = new DocumentTester(table, conditions)
    yield* tester.#mapping.learnInSteps(table.fields)
    // What every document would be refused for is refused before the first.
    yield* tester.#matching([], tester.#mapping)
    return tester
  }

  private constructor(table: TestedTable, conditions: TextConditions) {
    const names = queriesOf(conditions).flatMap((query) => fieldNamesOf(query))
    this.#table = table
    this.#conditions = conditions
    this.#mapping = new FieldMapping(table.schema)
    for (const query of queriesOf(conditions)) refuseUntestable(query)
    for (const name of names) if (name !== undefined) refuseUnstored(name)
    this.#members = new AskedMembers(names)
  }

  /** Answers for each of the documents whether it passes. */
  *test(documents: readonly TestedDocument[]): Sliced<readonly boolean[]> {
    const groups = new Map<FieldMapping, Mapped[]>()
    const meter = new StepMeter(DOCUMENTS_PER_STEP)
    for (const [at, { key, json }] of documents.entries()) {
      const document = yield* this.#members.read(json)
      const { mapping, mapped } = yield* this.#mapped(key, document)
      const group = groups.get(mapping) ?? []
      groups.set(mapping, group)
      group.push({ at, mapped })
      if (meter.spend(1)) yield
    }
    const passed = documents.map(() => false)
    for (const [mapping, group] of groups) {
      const found = yield* this.#matching(
        group.map(({ mapped }) => mapped),
        mapping,
      )
      for (const doc of found) passed[group[doc]?.at ?? -1] = true
    }
    return passed
  }

  *#mapped(key: Uint8Array, document: JsonObject) {
    let mapping = this.#mapping
    const own: TableField[] = []
    for (;;) {
      const mapped = yield* mapping.mapDocumentInSteps(key, document, NEVER_MS)
      if (mapped !== undefined) return { mapping, mapped }
      own.push(...mapping.takeUndecided())
      mapping = yield* this.#mappingWith(own)
    }
  }

  *#mappingWith(own: readonly TableField[]): Sliced<FieldMapping> {
    const name = JSON.stringify(own)
    const known = this.#mappings.get(name)
    if (known !== undefined) return known
    const { schema, fields } = this.#table
    const mapping = new FieldMapping(schema, [], this.#mapping.analysis)
    yield* mapping.learnInSteps([...fields, ...own])
    const bytes = MAPPING_BYTES + FIELD_BYTES * mapping.fieldCount
    if (!this.#mappings.has(name)) this.#mappings.put(name, mapping, bytes)
    return mapping
  }

  /** The numbers of the documents that match. */
  *#matching(
    documents: readonly IndexableDocument[],
    mapping: FieldMapping,
  ): Sliced<readonly number[]> {
    const segment = new MemorySegment()
    for (const document of documents) yield* segment.add(keyText(document.key), document)
    const state = new SegmentState(0, segment, new TermCache(TERMS_BYTES_MAX))
    const snapshot = new SearchSnapshot([state.view()], () => undefined)
    const unfit = mapping === this.#mapping ? 'refused' : 'unmatched'
    const resolver = new ConditionResolver(snapshot, mapping, { unfit, unlisted: 'refused' })
    const match = yield* resolver.match(this.#conditions, NEVER_MS)
    const found: number[] = []
    yield* snapshot.collect(match, (_, docs) => {
      for (const doc of docs) found.push(doc)
    })
    return found
  }
}

interface Mapped {
  /** The place in the batch. */
  readonly at: number
  readonly mapped: IndexableDocument
}

function queriesOf({ query, filter, exclusion }: TextConditions): readonly Query[] {
  return [query, filter, exclusion].filter((one) => one !== undefined)
}

function refuseUntestable(query: Query): void {
  if (query.kind === 'boolean') {
    const { must, should, mustNot, filter } = query
    for (const part of [...must, ...should, ...mustNot, ...filter]) refuseUntestable(part)
  } else if (query.kind === 'geo-shape' && positionsOf(query.shape) > POSITIONS_MAX) {
    refuseForm(`a shape of more than ${POSITIONS_MAX} positions`)
  }
}

/** What indexes of vectors keep of a document is in the text indexes alone. */
function refuseUnstored(name: string): void {
  const [first] = name.split('.')
  if (first !== CHUNKS_FIELD && first !== SUMMARIES_FIELD) return
  refuseForm(`"${name}", which indexes keep beside the document,`)
}

function refuseForm(form: string): never {
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `${form} needs a full-text index of the table; search with POST /query instead`,
  )
}
