import type { SegmentField } from './segment.ts'

const DOCS_PER_CHUNK = 4096

/**
 * The documents of a segment that have words or values of the field, ascending, in pieces of at most 4096. Where
 * few documents have the field it takes as long as they are many; otherwise each document is looked at,
 * and a piece may be empty. A piece is good until the next one.
 */
export function* docsWithField(
  field: SegmentField,
  docCount: number,
): Generator<Uint32Array, void> {
  const { listed } = field.norms ?? field.column ?? {}
  const count = listed?.count ?? docCount
  for (let from = 0; from < count; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, count)
    yield listed === undefined ? lookedFor(field, from, to) : listed.read(from, to)
  }
}

/** A bound: no more documents have the field. */
export function mostDocsWithField(field: SegmentField | undefined, docCount: number): number {
  if (field === undefined) return 0
  const { listed } = field.norms ?? field.column ?? {}
  return listed?.count ?? docCount
}

function lookedFor({ norms, column }: SegmentField, from: number, to: number): Uint32Array {
  const found = new Uint32Array(to - from)
  let count = 0
  if (norms !== undefined) {
    for (let doc = from; doc < to; doc += 1) if (norms.at(doc) > 0) found[count++] = doc
    return found.subarray(0, count)
  }
  const ends = column?.read(from, to).ends ?? []
  let before = 0
  for (let i = 0; i < ends.length; i += 1) {
    const end = ends[i] ?? 0
    if (end > before) found[count++] = from + i
    before = end
  }
  return found.subarray(0, count)
}
