import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { TableField } from '../../../schema/table-field.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import type { SealedReader } from '../../host/index-engine.ts'
import { newBitset, setBit } from '../../encoding/bitset.ts'
import type { SegmentViewDescription } from '../engine/index-view.ts'
import type { TextMemory } from '../engine/text-memory.ts'
import { ViewReader } from '../engine/view-reader.ts'
import { FieldMapping } from '../mapping/field-mapping.ts'
import { packAnswer, type PackedAnswer } from '../search/packed-answer.ts'
import { searchSnapshot } from '../search/run-text-search.ts'
import type { TextAsked } from '../search/text-questions.ts'
import type { ReaderKnowledge, SealedPart, SegmentNews } from './sealed-part.ts'

/** What a reader shares with the other indexes of its thread. */
export interface TextReaderOptions {
  readonly memory: TextMemory
  readonly disk: DiskWork
}

/** Answers the sealed parts of the searches of one index, in a thread that does not write it. */
export class TextReader implements SealedReader {
  readonly #with: TextReaderOptions
  #opened: OpenedIndex | undefined

  constructor(options: TextReaderOptions) {
    this.#with = options
  }

  *answer({ question, request }: TextAsked, part: SealedPart): Sliced<PackedAnswer> {
    if (question !== 'search') {
      throw new ServiceError('INVALID_ARGUMENT', `a reader does not answer "${question}"`)
    }
    const opened = this.#take(part)
    const segments = opened.segmentsOf(part)
    const mapping = yield* opened.mappingWith(part.knowledge.fieldCount)
    const snapshot = yield* opened.views.open({ generation: part.generation, segments })
    try {
      const { statistics = request.statistics } = part
      return yield* packAnswer(yield* searchSnapshot(snapshot, mapping, { ...request, statistics }))
    } finally {
      snapshot.release()
    }
  }

  close(): void {
    this.#opened?.views.close()
    this.#opened = undefined
  }

  /** At once, so that parts bring what they bring in the order in which they were sent. */
  #take(part: SealedPart): OpenedIndex {
    const { opening } = part.knowledge
    if (this.#opened?.opening !== opening) {
      if (part.schema === undefined) throw lackingError()
      this.close()
      this.#opened = new OpenedIndex(opening, this.#with)
    }
    this.#opened.take(part)
    return this.#opened
  }
}

/** What a reader has of one opening of an index. */
class OpenedIndex {
  readonly opening: string
  readonly views: ViewReader
  readonly #segments = new Map<number, SegmentViewDescription>()
  #generation = -1
  #schemaNumber = -1
  #mapping = new FieldMapping(undefined)
  /** The mapping learns them in steps. */
  #fields: TableField[] = []

  constructor(opening: string, { memory, disk }: TextReaderOptions) {
    this.opening = opening
    this.views = new ViewReader(memory, disk)
  }

  take({ knowledge, generation, schema, fields, fieldsFrom, segments }: SealedPart): void {
    this.#takeSchema(knowledge, schema)
    if (fieldsFrom > this.#fields.length) throw lackingError()
    this.#fields.push(...fields.slice(this.#fields.length - fieldsFrom))
    for (const news of segments) this.#takeSegment(news)
    if (generation < this.#generation) return
    this.#generation = generation
    for (const id of this.#segments.keys()) {
      if (!knowledge.segments.has(id)) this.#segments.delete(id)
    }
  }

  #takeSchema({ schemaNumber }: ReaderKnowledge, schema: SealedPart['schema']): void {
    if (schemaNumber === this.#schemaNumber) return
    // The schema that this part was made by is gone: the reader has a later one.
    if (schemaNumber < this.#schemaNumber || schema === undefined) throw lackingError()
    this.#schemaNumber = schemaNumber
    this.#mapping = new FieldMapping(schema.value)
    this.#fields = []
  }

  #takeSegment({ id, deleted, bytes }: SegmentNews): void {
    const known = this.#segments.get(id)
    const place = bytes ?? known
    if (place === undefined) throw lackingError()
    if (known !== undefined && known.deleted.count >= deleted.count) return
    const { source, resident } = place
    this.#segments.set(id, { id, source, resident, deleted })
  }

  /** In the order of the view. */
  segmentsOf({ knowledge }: SealedPart): readonly SegmentViewDescription[] {
    return [...knowledge.segments].map(([id, count]) => {
      const known = this.#segments.get(id)
      if (known === undefined || known.deleted.count < count) throw lackingError()
      return known.deleted.count === count ? known : withFewerDeleted(known, count)
    })
  }

  *mappingWith(fieldCount: number): Sliced<FieldMapping> {
    const mapping = this.#mapping
    // Others may learn them meanwhile, in the same order.
    while (mapping.fieldCount < fieldCount) yield* mapping.learnInSteps(this.#fields)
    return mapping
  }
}

/** As the segment was before the last of its deletions: a later part has come sooner. */
function withFewerDeleted(known: SegmentViewDescription, count: number): SegmentViewDescription {
  const { bits: later, log } = known.deleted
  const bits = newBitset(later.length * 32)
  for (let i = 0; i < count; i += 1) setBit(bits, log[i] ?? 0)
  return { ...known, deleted: { count, bits, log } }
}

/** The index answers the search by itself then. */
function lackingError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the reader lacks what this part builds on')
}
