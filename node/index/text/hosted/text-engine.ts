// The text engine behind the seam of index workers (host/index-engine.ts): an index of terms, and the
// mapping that feeds it.
//
// Invariants:
//   W1  A checkpoint on disk never covers a document whose field decisions are not on disk: the
//       mapping is saved before the engine is given the documents that changed it. The mapping may know
//       more fields than the checkpoint needs, which a table's list has as well.

import { randomUUID } from 'node:crypto'
import { assert } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { runAtOnce, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import type { JsonObject } from '../../../document/exact-json.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import type { TableField } from '../../../schema/table-field.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { unpackBatch, type DocumentBatch, type DocumentChange } from '../../host/document-batch.ts'
import type {
  AskedQuestion,
  DividedAnswer,
  IndexOpening,
  IndexReport,
  OnDocument,
  TakenBatch,
} from '../../host/index-engine.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../files/disk-work.ts'
import { SegmentedEngine } from '../../segments/segmented-engine.ts'
import type { TextIndexOptions } from '../engine/text-index-options.ts'
import { TextIndex } from '../engine/text-index.ts'
import { TextMemory } from '../engine/text-memory.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { MAPPING_FILE, writeMapping } from '../mapping/saved-mapping.ts'
import type { WordMemory } from '../mapping/word-memory.ts'
import { parseStoredInSteps } from '../mapping/stored-json.ts'
import { highlightTexts } from '../highlight/highlighter.ts'
import { packAnswer, type PackedAnswer } from '../search/packed-answer.ts'
import { gatherTextStatistics, runTextSearch } from '../search/run-text-search.ts'
import { runTextSelect, type SelectionCache } from '../search/run-text-select.ts'
import { suggestWords } from '../suggest/suggest-words.ts'
import type { TextSearchRequest } from '../search/text-search.ts'
import type { TextAsked } from '../search/text-questions.ts'
import { divideSearch } from './divided-search.ts'
import { withNamedTexts } from './document-texts.ts'
import { mappingOf, openMapping, type OpenedMapping } from './opened-mapping.ts'
import type { ReaderKnowledge } from './sealed-part.ts'

/**
 * One text index in its worker: maps documents to fields and terms, and answers searches,
 * statistics, highlights and suggestions.
 */
export class TextEngine extends SegmentedEngine<TextIndex> {
  readonly #directory: string | undefined
  readonly #disk: DiskWork
  readonly #words: WordMemory
  readonly #selections: SelectionCache | undefined
  readonly #dividedCostMin: number
  #schema: TableSchema | undefined
  #mapping: FieldMapping
  #savedFields: number
  /** Readers in other threads tell this opening of the index from others by it. */
  readonly #opening = randomUUID()
  #schemaNumber = 0

  private constructor(
    index: TextIndex,
    opened: OpenedMapping,
    { directory, disk, words, selections, dividedCostMin }: EnginePlace,
  ) {
    super(index, { directory, ownFiles: [MAPPING_FILE] })
    this.#directory = directory
    this.#disk = disk
    this.#words = words
    this.#selections = selections
    this.#dividedCostMin = dividedCostMin
    this.#schema = opened.schema
    this.#mapping = opened.mapping
    this.#savedFields = opened.savedFields
  }

  /** As `openInSteps`, at once. */
  static open(request: IndexOpening, engine: EngineParts): TextEngine {
    return runAtOnce(TextEngine.openInSteps(request, engine))
  }

  /** CORRUPTION if something is missing or damaged. */
  static *openInSteps(request: IndexOpening, engine: EngineParts): Paced<TextEngine> {
    const { directory } = request
    const { selections, dividedCostMin = 0, disk = DISK_WORK_HERE, ...parts } = engine
    const { memory = new TextMemory() } = parts
    const { words } = memory
    const opened = yield* openMapping(request, { disk, words })
    yield* opened.mapping.learnInSteps(request.fields)
    yield
    const index = yield* TextIndex.openInSteps({ ...parts, directory, disk, memory })
    return new TextEngine(index, opened, { directory, disk, words, selections, dividedCostMin })
  }

  get schema(): TableSchema | undefined {
    return this.#schema
  }

  get mapping(): FieldMapping {
    return this.#mapping
  }

  *setSchema(schema: TableSchema | undefined): Paced<void> {
    const mapping = mappingOf(schema, this.#words)
    // More may be learnt meanwhile.
    while (mapping.fieldCount < this.#mapping.fieldCount) {
      yield* mapping.learnInSteps(this.#mapping.fields)
    }
    this.#mapping = mapping
    this.#schema = schema
    this.#schemaNumber += 1
    yield* this.#saveMapping()
  }

  /** The learnt fields are saved with the documents that have them (W1). */
  learn(fields: readonly TableField[]): Sliced<void> {
    return this.#mapping.learnInSteps(fields)
  }

  report(): TextReport {
    return { ...this.index.stats(), dropped: this.#mapping.dropped.report() }
  }

  answer(asked: TextAsked): Sliced<unknown> {
    switch (asked.question) {
      case 'search':
        return packedSearch(this, asked.request)
      case 'statistics':
        return gatherTextStatistics(this, asked.request)
      case 'select':
        return runTextSelect(this, asked.request, this.#selections)
      case 'suggest':
        return suggestWords(this, asked.request)
      case 'highlight':
        return highlightTexts(asked.request, {
          schema: this.#schema,
          analysis: this.#mapping.analysis,
          fields: this.#mapping.fields,
        })
      default:
        throw unknownQuestion(asked)
    }
  }

  /** Searches alone are worth it. */
  divide(asked: TextAsked, known: ReaderKnowledge | undefined): Sliced<DividedAnswer> {
    if (asked.question !== 'search') return answeredWhole(this.answer(asked))
    const { index } = this
    const [opening, schemaNumber] = [this.#opening, this.#schemaNumber]
    const [schema, mapping] = [this.#schema, this.#mapping]
    const divided = { index, mapping, opening, schemaNumber, schema, costMin: this.#dividedCostMin }
    return divideSearch(divided, asked.request, known)
  }

  /** What a step has applied is found from then on. */
  *apply(batch: DocumentBatch, onDocument: OnDocument = ignored): Paced<TakenBatch> {
    const changes = [...unpackBatch(batch)]
    let step = new Step()
    for (const [taken, { key, json, expiresAtMs, ordinal }] of changes.entries()) {
      if (step.isFull) {
        yield* this.#take(step, this.index.sequence, onDocument)
        step = new Step()
      }
      if (json === undefined) {
        step.deletes.push(key)
        continue
      }
      onDocument(taken)
      const document = yield* parsed(json)
      const mapped = yield* this.#mapping.mapDocumentInSteps(key, document, expiresAtMs)
      if (mapped === undefined) {
        yield* this.#take(step, this.index.sequence, onDocument)
        return { taken, undecided: yield* this.#survey(changes, taken + 1, onDocument) }
      }
      step.upserts.push({ ...mapped, ordinal })
      step.numbers.push(taken)
      step.bytes += json.length
    }
    yield* this.#take(step, batch.sequence, onDocument)
    return { taken: changes.length, undecided: [] }
  }

  /** All new fields of the changes, so that the nodes agree on them in one round. */
  *#survey(
    changes: readonly DocumentChange[],
    from: number,
    onDocument: OnDocument,
  ): Sliced<readonly TableField[]> {
    for (const [at, { json }] of changes.entries()) {
      if (at < from || json === undefined) continue
      onDocument(at)
      yield* this.#mapping.surveyInSteps(yield* parsed(json))
      yield
    }
    onDocument(undefined)
    return this.#mapping.takeUndecided()
  }

  *#take(step: Step, sequence: number, onDocument: OnDocument): Paced<void> {
    // Fields are only ever added, so that their number tells whether there are new ones.
    if (this.#mapping.fieldCount !== this.#savedFields) yield* this.#saveMapping()
    const onUpsert = (number: number): void => onDocument(step.numbers[number])
    const { upserts, deletes } = step
    yield* this.index.applyInSteps({ sequence, upserts, deletes, onUpsert })
    onDocument(undefined)
    yield
    yield* this.waitForRoom()
  }

  *#saveMapping(): Paced<void> {
    const { fields } = this.#mapping
    this.#savedFields = fields.length
    if (this.#directory === undefined) return
    yield* writeMapping(this.#directory, { schema: this.#schema, fields }, this.#disk)
  }
}

export type TextReport = IndexReport & ReturnType<TextIndex['stats']>

const ignored: OnDocument = () => undefined

/** What an engine is given besides its directory. */
export interface EngineParts extends Omit<TextIndexOptions, 'directory'> {
  /** The cached selections of the indexes that share `memory`. Default: none are cached. */
  readonly selections?: SelectionCache
  /** The least number of documents that a divided search looks at. Absent: every search is worth it. */
  readonly dividedCostMin?: number
}

interface EnginePlace {
  readonly directory: string | undefined
  readonly disk: DiskWork
  readonly words: WordMemory
  readonly dividedCostMin: number
  readonly selections: SelectionCache | undefined
}

const STEP_DOCUMENTS_MAX = 32
const STEP_BYTES_MAX = 32 * 1024

/** Documents that are applied together. */
class Step {
  readonly deletes: Uint8Array[] = []
  readonly upserts: IndexableDocument[] = []
  /** The numbers of the upserts in the batch. */
  readonly numbers: number[] = []
  /** The bytes of the documents' JSON. */
  bytes = 0

  get isFull(): boolean {
    const count = this.deletes.length + this.upserts.length
    return count >= STEP_DOCUMENTS_MAX || this.bytes >= STEP_BYTES_MAX
  }
}

function* parsed(json: Uint8Array): Sliced<JsonObject> {
  const document = yield* parseStoredInSteps(asBuffer(json))
  assert(isJsonObject(document), 'a stored document is a JSON object')
  return withNamedTexts(document)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function* packedSearch(engine: TextEngine, request: TextSearchRequest): Sliced<PackedAnswer> {
  return yield* packAnswer(yield* runTextSearch(engine, request))
}

function* answeredWhole(work: Sliced<unknown>): Sliced<DividedAnswer> {
  return { kind: 'whole', answer: yield* work }
}

function unknownQuestion({ question }: AskedQuestion): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `a full_text index does not answer "${question}"`)
}
