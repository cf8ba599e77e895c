// A segment that does not change. Format: docs/reference/formats/text-segment.md.

import type { Sliced } from '../../../../lib/sliced.ts'
import { HeldSegment } from '../../segments/held-segment.ts'
import { DiskColumn, type ColumnPlace, type ColumnReader } from './column.ts'
import { DictionaryReader, type DictionaryEntry, type DictionaryPlace } from './dictionary.ts'
import { DiskPostings } from '../postings/disk-postings.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { hashOfKey, mayHaveKey } from './key-filter.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import {
  endOfPrefix,
  NO_ORDINAL,
  type Segment,
  type SegmentField,
  type SegmentFieldKind,
} from './segment.ts'
import { SegmentNorms, type NormsPlace } from './segment-norms.ts'
import type { SegmentInput } from '../encoding/segment-file.ts'
import { sharedBytes } from '../../encoding/shared-array.ts'

/** A rough price of a field's objects in one thread. */
const FIELD_BYTES = 512

/** The description of a segment file: the places of all of its parts. */
export interface SegmentDescription {
  readonly docCount: number
  readonly keys: DictionaryPlace
  readonly filter: { readonly offset: number; readonly bytes: number }
  /** Expiries, eight bytes a document; undefined if no document expires. */
  readonly expiry: { readonly offset: number; readonly firstMs: number } | undefined
  /** Ordinals, four bytes a document; undefined if no document has one. */
  readonly ordinals?: { readonly offset: number } | undefined
  readonly fields: readonly FieldDescription[]
}

/**
 * The places of one field's parts. An undefined part is not in the file, because fields of this kind
 * do not have it.
 */
export interface FieldDescription {
  readonly name: string
  readonly kind: SegmentFieldKind
  readonly docCount: number
  readonly totalLength: number
  readonly norms: NormsPlace | undefined
  readonly terms: DictionaryPlace | undefined
  readonly column: ColumnPlace | undefined
}

/** The parts of a segment that one thread reads into memory and all threads share. */
export interface SegmentResident {
  readonly filter: Uint8Array
  /** The norms of all fields. */
  readonly norms: Uint8Array
}

/**
 * A segment that is read from its file. Its documents never change; a deletion is kept outside, by
 * `SegmentState`.
 */
export class DiskSegment extends HeldSegment implements Segment {
  readonly isKeyOrdered = true
  readonly isSealed = true
  readonly docCount: number
  readonly firstExpiryMs: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
  readonly file: SegmentInput
  readonly #description: SegmentDescription
  readonly #keys: DictionaryReader
  readonly #filter: Uint8Array
  readonly #norms: Uint8Array
  readonly #fields: ReadonlyMap<string, DiskField>

  /**
   * `resident` comes from the same segment in another thread. Default: it is read from the file.
   */
  static *open(file: SegmentInput, resident?: SegmentResident): Sliced<DiskSegment> {
    // The description's checksum has been verified: it is what the writer wrote.
    const description: SegmentDescription = JSON.parse(file.description)
    const { keys, filter } = description
    const norms = yield* SegmentNorms.open(file, description, resident?.norms)
    const fields = new Map<string, DiskField>()
    for (const [i, field] of description.fields.entries()) {
      fields.set(field.name, yield* DiskField.open(file, field, () => norms.at(i)))
      yield
    }
    return new DiskSegment(file, description, {
      keys: yield* DictionaryReader.open(file, keys, 'latin1'),
      filter: resident?.filter ?? (yield* readFilter(file, filter.offset, filter.bytes)),
      norms: norms.bytes,
      fields,
    })
  }

  private constructor(file: SegmentInput, description: SegmentDescription, parts: SegmentParts) {
    super()
    const { docCount, keys, filter, expiry, fields } = description
    this.#norms = parts.norms
    this.file = file
    this.#description = description
    this.#keys = parts.keys
    this.#filter = parts.filter
    this.#fields = parts.fields
    this.docCount = docCount
    this.firstExpiryMs = expiry?.firstMs ?? Infinity
    this.bytesOnDisk = file.source.path === undefined ? 0 : file.bytesTotal
    let bytes = keys.indexBytes + filter.bytes + parts.norms.length
    bytes += file.bytesTotal - this.bytesOnDisk
    for (const { terms } of fields) bytes += FIELD_BYTES + (terms?.indexBytes ?? 0)
    this.bytesInMemory = bytes
  }

  get resident(): SegmentResident {
    return { filter: this.#filter, norms: this.#norms }
  }

  /** The segment itself, because it never changes. */
  view(): Segment {
    return this
  }

  fieldNames(): Iterable<string> {
    return this.#fields.keys()
  }

  field(name: string): SegmentField | undefined {
    return this.#fields.get(name)
  }

  key(doc: number): string {
    return this.#keys.at(doc)
  }

  docOf(key: string): number {
    if (!mayHaveKey(this.#filter, hashOfKey(key))) return -1
    return this.#keys.find(key)?.ordinal ?? -1
  }

  expiriesOf(from: number, to: number): Float64Array {
    const { expiry } = this.#description
    if (expiry === undefined) return new Float64Array(to - from)
    return new Float64Array(this.file.copy(expiry.offset + from * 8, (to - from) * 8).buffer)
  }

  get hasOrdinals(): boolean {
    return this.#description.ordinals !== undefined
  }

  ordinalsOf(from: number, to: number): Uint32Array {
    const { ordinals } = this.#description
    if (ordinals === undefined) return new Uint32Array(to - from).fill(NO_ORDINAL)
    return new Uint32Array(this.file.copy(ordinals.offset + from * 4, (to - from) * 4).buffer)
  }

  *prepareMerge(): Sliced<void> {}

  keysInOrder(): Iterable<DictionaryEntry> {
    return this.#keys.entriesFrom('')
  }

  docsWithPrefix(prefix: string, visit: (doc: number) => void): void {
    const end = this.#keys.lowerBound(endOfPrefix(prefix))
    for (let doc = this.#keys.lowerBound(prefix); doc < end; doc += 1) visit(doc)
  }

  protected closeFiles(): void {
    this.file.close()
  }
}

function readFilter(file: SegmentInput, offset: number, length: number): Sliced<Uint8Array> {
  return file.copyInSteps(offset, length, sharedBytes(length))
}

interface SegmentParts {
  readonly keys: DictionaryReader
  readonly filter: Uint8Array
  readonly norms: Uint8Array
  readonly fields: ReadonlyMap<string, DiskField>
}

class DiskField implements SegmentField {
  readonly name: string
  readonly kind: SegmentFieldKind
  readonly docCount: number
  readonly totalLength: number
  readonly #file: SegmentInput
  readonly #terms: DictionaryReader | undefined
  readonly #columnPlace: ColumnPlace | undefined
  readonly #normsOf: () => FieldNorms | undefined
  #norms: FieldNorms | undefined
  #column: ColumnReader | undefined

  /** `normsOf` makes the norms at their first use. */
  static *open(
    file: SegmentInput,
    description: FieldDescription,
    normsOf: () => FieldNorms | undefined,
  ): Sliced<DiskField> {
    const { terms } = description
    const reader =
      terms === undefined ? undefined : yield* DictionaryReader.open(file, terms, 'utf8')
    return new DiskField(file, description, { terms: reader, normsOf })
  }

  private constructor(
    file: SegmentInput,
    description: FieldDescription,
    parts: { terms: DictionaryReader | undefined; normsOf: () => FieldNorms | undefined },
  ) {
    const { name, kind } = description
    this.name = name
    this.kind = kind
    this.docCount = description.docCount
    this.totalLength = description.totalLength
    this.#file = file
    this.#columnPlace = description.column
    this.#terms = parts.terms
    this.#normsOf = parts.normsOf
  }

  get norms(): FieldNorms | undefined {
    if (this.kind === 'text') this.#norms ??= this.#normsOf()
    return this.#norms
  }

  get column(): ColumnReader | undefined {
    const { kind } = this
    if (this.#columnPlace === undefined || kind === 'text') return undefined
    this.#column ??= new DiskColumn(this.#file, this.#columnPlace, { kind, terms: this.#terms })
    return this.#column
  }

  find(term: string): DictionaryEntry | undefined {
    return this.#terms?.find(term)
  }

  entriesFrom(term: string): Iterable<DictionaryEntry> {
    return this.#terms?.entriesFrom(term) ?? []
  }

  *prepareTerms(): Sliced<void> {}

  postings(entry: DictionaryEntry): PostingsSource {
    return new DiskPostings(this.#file, entry, this.kind === 'text')
  }
}
