// Which documents of a part a search may find.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { hasOrdinal } from '../../host/ordinal-set.ts'
import type { RowsSnapshot } from '../../rows/rows-index.ts'
import type { PartView } from '../../rows/part-view.ts'
import { hasBit } from '../../encoding/bitset.ts'
import { isExpired } from '../../rows/document-rows.ts'
import type { SoughtDocuments } from '../vector-search.ts'

/** Documents that are looked at in some tenths of a millisecond. */
export const LOOKS_PER_STEP = 16_384

/** Documents one behind the other: `from` up to `to`. */
export interface DocumentRun {
  readonly from: number
  readonly to: number
}

/** Ascending documents, those that lie one behind the other together. */
export function* runsOf(docs: Uint32Array): Generator<DocumentRun> {
  let [from, to] = [0, 0]
  for (const doc of docs) {
    if (doc !== to) {
      if (from < to) yield { from, to }
      from = doc
    }
    to = doc + 1
  }
  if (from < to) yield { from, to }
}

type Conditions = Pick<SoughtDocuments, 'filter' | 'nowMs'>

/** Whether a document is live and passes the filter. */
export function passes(
  { rows, deleted }: PartView,
  doc: number,
  { filter, nowMs }: Conditions,
): boolean {
  if (hasBit(deleted, doc) || isExpired(rows, doc, nowMs)) return false
  return filter === undefined || hasOrdinal(filter, rows.ordinalOf(doc))
}

/** The documents with these ordinals that pass, ascending. A list is short: all of it is looked up in one step. */
export function listedDocuments(
  part: PartView,
  ordinals: Uint32Array,
  conditions: Conditions,
): Uint32Array {
  const isDeleted = (doc: number): boolean => hasBit(part.deleted, doc)
  const found: number[] = []
  for (const ordinal of ordinals) {
    const doc = part.rows.docOfOrdinal(ordinal, isDeleted)
    if (doc >= 0 && doc < part.docCount && passes(part, doc, conditions)) found.push(doc)
  }
  return Uint32Array.from(found).toSorted()
}

/** Documents stay until they are deleted, some time after they have expired. */
export function* expiredCount(
  { parts }: Pick<RowsSnapshot, 'parts'>,
  { filter, nowMs }: Conditions,
): Sliced<number> {
  const meter = new StepMeter(LOOKS_PER_STEP)
  let count = 0
  for (const { rows, docCount, deleted } of parts) {
    if (!(rows.firstExpiryMs <= nowMs)) continue
    for (let doc = 0; doc < docCount; doc += 1) {
      if (meter.spend(1)) yield
      if (!isExpired(rows, doc, nowMs) || hasBit(deleted, doc)) continue
      if (filter === undefined || hasOrdinal(filter, rows.ordinalOf(doc))) count += 1
    }
  }
  return count
}
