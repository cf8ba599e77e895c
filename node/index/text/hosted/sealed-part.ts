// What a reader in another thread needs to search the sealed segments of an index: the view, the mapping,
// and the statistics of the whole index. A reader keeps what it was sent, so that the next part names
// only what is new: describing twenty segments anew costs half a millisecond in each thread that it passes.
//
// Invariants:
//   SP1  A part whose base the reader has makes it know exactly `knowledge`, or more of the same opening.

import type { TableField } from '../../../schema/table-field.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { SegmentViewDescription, ViewDescription } from '../engine/index-view.ts'
import type { TextStatistics } from '../search/text-search.ts'

/** What a reader knows of an index after a part. */
export interface ReaderKnowledge {
  /** Names the opening of the index: a later one may use the same numbers for other segments. */
  readonly opening: string
  /** Grows with each schema. */
  readonly schemaNumber: number
  readonly fieldCount: number
  /** By segment, how many deletions the reader was told of. */
  readonly segments: ReadonlyMap<number, number>
}

/** What a view says of a segment. `bytes` is absent where the reader has the segment. */
export interface SegmentNews extends Pick<SegmentViewDescription, 'id' | 'deleted'> {
  readonly bytes: Pick<SegmentViewDescription, 'source' | 'resident'> | undefined
}

/** The sealed part of one search, as plain data. */
export interface SealedPart {
  /** What the part needs; it brings what the reader lacks. */
  readonly knowledge: ReaderKnowledge
  readonly generation: number
  /** Undefined if the reader knows the schema; else its value, which a table may do without. */
  readonly schema: { readonly value: TableSchema | undefined } | undefined
  /** The first of `fields` in the table's list. */
  readonly fieldsFrom: number
  readonly fields: readonly TableField[]
  readonly segments: readonly SegmentNews[]
  /** The statistics of the whole index; undefined if the sealed segments are the whole index. */
  readonly statistics: TextStatistics | undefined
}

/** The index as a part describes it. */
export interface DescribedIndex {
  readonly opening: string
  readonly schemaNumber: number
  readonly schema: TableSchema | undefined
  readonly fields: readonly TableField[]
  readonly view: ViewDescription
}

/** For a reader that knows `known`, perhaps of another opening; undefined: nothing. */
export function describePart(
  { opening, schemaNumber, schema, fields, view }: DescribedIndex,
  known: ReaderKnowledge | undefined,
  statistics: TextStatistics | undefined,
): SealedPart {
  const base = known?.opening === opening ? known : undefined
  const counts = view.segments.map(({ id, deleted }) => [id, deleted.count] as const)
  const fieldsFrom = base?.schemaNumber === schemaNumber ? base.fieldCount : 0
  return {
    knowledge: { opening, schemaNumber, fieldCount: fields.length, segments: new Map(counts) },
    generation: view.generation,
    schema: base?.schemaNumber === schemaNumber ? undefined : { value: schema },
    fieldsFrom,
    fields: fields.slice(fieldsFrom),
    segments: view.segments.flatMap((one) => newsOf(one, base?.segments.get(one.id)) ?? []),
    statistics,
  }
}

function newsOf(
  { id, deleted, source, resident }: SegmentViewDescription,
  known: number | undefined,
): SegmentNews | undefined {
  if (known === deleted.count) return undefined
  return { id, deleted, bytes: known === undefined ? { source, resident } : undefined }
}
