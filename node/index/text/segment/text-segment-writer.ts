// Writes one segment from several: a flush has one memory segment as its source, a merge has many.
// The work is in steps of about a millisecond for any documents, because it is counted in values,
// postings, positions and bytes. Documents are numbered in the order of their keys.

import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import { LISTED_SHARE } from './column.ts'
import { writeColumn } from './column-writer.ts'
import { DictionaryWriter, type DictionaryEntry, type DictionaryPlace } from './dictionary.ts'
import { FieldNorms } from '../encoding/field-norms.ts'
import type { FieldDescription, SegmentDescription } from './disk-segment.ts'
import { GatheredPostings } from '../postings/gathered-postings.ts'
import { addToFilter, hashOfKey, newKeyFilter } from './key-filter.ts'
import { newDocsWithField, type NewDocuments } from './new-documents.ts'
import { newNorms, writeNorms } from './norms-writer.ts'
import { PostingsWriter } from '../postings/postings-writer.ts'
import { NO_ORDINAL, type Segment, type SegmentField } from './segment.ts'
import type { SegmentOutput } from '../encoding/segment-file.ts'
import { TextMerge } from './text-merge.ts'

const DOCS_PER_SLICE = 1024
/** Postings and positions: about a millisecond of work. */
const POSTINGS_PER_STEP = 4096
/** A term costs about as much as 16 postings, and one more for each 32 of its characters. */
const TERM_COST = 16
const FIELD_COST = 64
const CHARACTERS_PER_POSTING = 32
/** Shorter lists are not worth a generator. */
const SHORT_MAX = 128
/** Bytes of ended terms are written in pieces of about this size. */
const PENDING_BYTES_MAX = 32 * 1024
const DOCS_MAPPED_PER_STEP = 65_536
const NO_NORMS = FieldNorms.ofAll(new Uint8Array(0))

/** One of the segments that a new segment is made of. */
export interface SegmentInput {
  readonly segment: Segment
  /** Whether a document is dropped. It is called once for each document. */
  isDropped(doc: number): boolean
}

/** A segment that is written and, unless it stays in memory, durable. */
export interface WrittenSegment {
  readonly docCount: number
  /** The bytes, if they stay in memory. */
  readonly bytes: Uint8Array | undefined
  /** The new number of each document, for each input; -1 for a dropped document. */
  readonly docMaps: readonly Int32Array[]
}

/** Writes the inputs' documents, each key at most once among those not dropped, and finishes `out`. */
export function* writeSegment(
  inputs: readonly SegmentInput[],
  out: SegmentOutput,
): Paced<WrittenSegment> {
  const docMaps: Int32Array[] = []
  for (const input of inputs) docMaps.push(yield* newDocMap(input))
  const segments = inputs.map(({ segment }) => segment)
  for (const segment of segments) yield* segment.prepareMerge()
  return yield* new Merge(segments, docMaps, out).run()
}

/** A map with 0 for kept documents, which get their numbers later, and -1 for dropped ones. */
function* newDocMap(input: SegmentInput): Sliced<Int32Array> {
  const docMap = new Int32Array(input.segment.docCount)
  for (let doc = 0; doc < docMap.length; doc += 1) {
    if (input.isDropped(doc)) docMap[doc] = -1
    if (doc % DOCS_MAPPED_PER_STEP === DOCS_MAPPED_PER_STEP - 1) yield
  }
  return docMap
}

function keptCount(docMap: Int32Array): number {
  let count = 0
  for (const doc of docMap) if (doc === 0) count += 1
  return count
}

/** One field in each source; undefined for a source without it. */
type SourceFields = readonly (SegmentField | undefined)[]

class Merge {
  readonly #segments: readonly Segment[]
  readonly #docMaps: readonly Int32Array[]
  readonly #out: SegmentOutput
  readonly #documents: NewDocuments
  readonly #docCount: number
  readonly #gathered = new GatheredPostings()
  readonly #meter = new StepMeter(POSTINGS_PER_STEP)

  constructor(segments: readonly Segment[], docMaps: readonly Int32Array[], out: SegmentOutput) {
    this.#segments = segments
    this.#docMaps = docMaps
    this.#out = out
    this.#docCount = docMaps.reduce((sum, docMap) => sum + keptCount(docMap), 0)
    this.#documents = {
      count: this.#docCount,
      sourceOf: new Uint16Array(this.#docCount),
      docOf: new Uint32Array(this.#docCount),
      docMaps,
    }
  }

  *run(): Paced<WrittenSegment> {
    const { keys, filter } = yield* this.#writeKeys()
    const expiry = yield* this.#writeExpiries()
    const ordinals = yield* this.#writeOrdinals()
    const names = new Set(this.#segments.flatMap((segment) => [...segment.fieldNames()]))
    const fields: FieldDescription[] = []
    for (const name of [...names].toSorted()) {
      if (this.#meter.spend(FIELD_COST)) yield
      const field = yield* this.#writeField(name)
      if (field !== undefined) fields.push(field)
      yield* this.#out.keepUp()
    }
    const docCount = this.#docCount
    const description: SegmentDescription = { docCount, keys, filter, expiry, ordinals, fields }
    const bytes = yield* this.#out.finish(JSON.stringify(description))
    return { docCount, bytes, docMaps: this.#docMaps }
  }

  *#writeKeys(): Paced<{ keys: DictionaryPlace; filter: SegmentDescription['filter'] }> {
    const writer = new DictionaryWriter('latin1')
    const filter = newKeyFilter(this.#docCount)
    const merge = new TextMerge(this.#segments.map((segment) => segment.keysInOrder()))
    const meter = new StepMeter(DOCS_PER_SLICE)
    let next = 0
    while (merge.next()) {
      if (meter.spend(merge.sources.length)) yield
      for (let i = 0; i < merge.sources.length; i += 1) {
        const source = merge.sources[i] ?? 0
        const docMap = must(this.#docMaps[source], 'the map of a source')
        const { text, ordinal } = must(merge.items[i], 'an item of each source')
        if (docMap[ordinal] === -1) continue
        docMap[ordinal] = next
        this.#documents.sourceOf[next] = source
        this.#documents.docOf[next] = ordinal
        writer.add(text)
        addToFilter(filter, hashOfKey(text))
        next += 1
      }
    }
    const keys = yield* writer.finish(this.#out)
    const offset = this.#out.offset
    yield* this.#out.writeInSteps(filter)
    return { keys, filter: { offset, bytes: filter.length } }
  }

  *#writeExpiries(): Sliced<SegmentDescription['expiry']> {
    if (this.#segments.every(({ firstExpiryMs }) => firstExpiryMs === Infinity)) return undefined
    const offset = this.#out.offset
    const page = new Float64Array(DOCS_PER_SLICE)
    let firstMs = Infinity
    for (let from = 0; from < this.#docCount; from += DOCS_PER_SLICE) {
      const count = Math.min(DOCS_PER_SLICE, this.#docCount - from)
      for (let i = 0; i < count; i += 1) {
        const doc = this.#documents.docOf[from + i] ?? 0
        const expiresAtMs = this.#source(from + i).expiriesOf(doc, doc + 1)[0] ?? 0
        page[i] = expiresAtMs
        if (expiresAtMs > 0) firstMs = Math.min(firstMs, expiresAtMs)
      }
      this.#out.write(new Uint8Array(page.buffer, 0, count * 8))
      yield
    }
    return firstMs === Infinity ? undefined : { offset, firstMs }
  }

  *#writeOrdinals(): Sliced<SegmentDescription['ordinals']> {
    if (!this.#segments.some(({ hasOrdinals }) => hasOrdinals)) return undefined
    const offset = this.#out.offset
    const page = new Uint32Array(DOCS_PER_SLICE)
    for (let from = 0; from < this.#docCount; from += DOCS_PER_SLICE) {
      const count = Math.min(DOCS_PER_SLICE, this.#docCount - from)
      for (let i = 0; i < count; i += 1) {
        const doc = this.#documents.docOf[from + i] ?? 0
        page[i] = this.#source(from + i).ordinalsOf(doc, doc + 1)[0] ?? NO_ORDINAL
      }
      this.#out.write(new Uint8Array(page.buffer, 0, count * 4))
      yield
    }
    return { offset }
  }

  /** Undefined for a field that no remaining document has. */
  *#writeField(name: string): Paced<FieldDescription | undefined> {
    const fields = this.#segments.map((segment) => segment.field(name))
    const { kind } = must(
      fields.find((field) => field !== undefined),
      'a segment with the field',
    )
    return kind === 'text'
      ? yield* this.#writeText(name, fields)
      : yield* this.#writeValues({ name, kind }, fields)
  }

  *#writeText(name: string, fields: SourceFields): Paced<FieldDescription | undefined> {
    const { norms, docCount, totalLength } = yield* newNorms(this.#documents, fields)
    if (docCount === 0) return undefined
    const place = yield* writeNorms(this.#out, norms)
    const { place: terms } = yield* this.#writeTerms(fields, norms)
    return { name, kind: 'text', docCount, totalLength, norms: place, terms, column: undefined }
  }

  *#writeValues(
    { name, kind }: Pick<FieldDescription, 'name' | 'kind'>,
    fields: SourceFields,
  ): Paced<FieldDescription | undefined> {
    const docs = yield* newDocsWithField(this.#documents, fields, LISTED_SHARE)
    const terms = kind === 'keyword' ? yield* this.#writeTerms(fields, undefined) : undefined
    const columns = fields.map((field) => field?.column)
    const documents = { ...this.#documents, docs }
    const column = yield* writeColumn(this.#out, documents, { columns, ordinals: terms?.ordinals })
    if (column.listed?.count === 0) return undefined
    const none = { docCount: 0, totalLength: 0, norms: undefined }
    return { name, kind, ...none, terms: terms?.place, column }
  }

  /** Also returns the new ordinal of each ordinal, for each segment. */
  *#writeTerms(
    fields: SourceFields,
    norms: FieldNorms | undefined,
  ): Paced<{ place: DictionaryPlace; ordinals: readonly Uint32Array[] }> {
    const hasPositions = norms !== undefined
    const dictionary = new DictionaryWriter('utf8')
    const writer = new PostingsWriter({ hasPositions, norms: norms ?? NO_NORMS })
    const ordinals = fields.map((field) => new Uint32Array(field?.column?.ordinalCount ?? 0))
    const rankOf = fields.map(() => 0)
    let count = 0
    const merge = new TextMerge(fields.map((field) => field?.entriesFrom('') ?? []))
    while (merge.next()) {
      yield* this.#gather(fields, merge, hasPositions)
      for (const source of merge.sources) {
        const rank = rankOf[source] ?? 0
        rankOf[source] = rank + 1
        const map = ordinals[source]
        if (map !== undefined && rank < map.length) map[rank] = count
      }
      const docFreq = this.#gathered.length
      if (docFreq === 0) continue
      count += 1
      const postings = docFreq + this.#gathered.positionCount
      if (postings <= SHORT_MAX) this.#gathered.writeShort(writer, hasPositions)
      else yield* this.#gathered.write(writer, this.#docCount, hasPositions)
      const before = writer.pendingBytes
      const offset = this.#out.offset + before
      writer.endTerm()
      const { text } = must(merge.items[0], 'a term')
      dictionary.add(text, { docFreq, offset, length: writer.pendingBytes - before })
      if (this.#meter.spend(TERM_COST + postings + text.length / CHARACTERS_PER_POSTING)) yield
      if (writer.pendingBytes < PENDING_BYTES_MAX) continue
      yield* this.#out.writeInSteps(writer.takePending())
    }
    yield* this.#out.writeInSteps(writer.takePending())
    return { place: yield* dictionary.finish(this.#out), ordinals }
  }

  *#gather(
    fields: SourceFields,
    merge: TextMerge<DictionaryEntry>,
    hasPositions: boolean,
  ): Sliced<void> {
    this.#gathered.clear()
    for (let i = 0; i < merge.sources.length; i += 1) {
      const source = merge.sources[i] ?? 0
      const field = must(fields[source], 'the field of a source')
      const docMap = must(this.#docMaps[source], 'the map of a source')
      const postings = field.postings(must(merge.items[i], 'an entry of each source'))
      const isShort =
        postings.blockCount === 1 &&
        this.#gathered.gatherBlock(postings, 0, { docMap, hasPositions })
      if (!isShort) yield* this.#gathered.gather(postings, docMap, hasPositions)
      if (this.#meter.spend(postings.docFreq)) yield
    }
  }

  #source(doc: number): Segment {
    return must(this.#segments[this.#documents.sourceOf[doc] ?? 0], 'the segment of a document')
  }
}
