import { mergeExpansions } from '../matching/ranked-expansions.ts'
import type { TextStatistics } from './text-search.ts'

interface FieldCounts {
  readonly docCount: number
  readonly totalLength: number
}

/** The statistics of all shards together. Every number is a sum. */
export function mergeStatistics(all: readonly TextStatistics[]): TextStatistics {
  const fields = new Map<string, FieldCounts>()
  const docFreqs = new Map<string, number>()
  for (const part of all) {
    for (const [field, counts] of part.fields) {
      const known = fields.get(field)
      fields.set(field, known === undefined ? counts : mergeField(known, counts))
    }
    for (const [term, count] of part.docFreqs) docFreqs.set(term, (docFreqs.get(term) ?? 0) + count)
  }
  return { fields, docFreqs, expansions: mergeExpansions(all.map(({ expansions }) => expansions)) }
}

/**
 * A shard where no document has a text field cannot tell that the field is one: it counts all of its
 * documents, as for a field without lengths. The lengths of another shard show what the field is.
 */
function mergeField(left: FieldCounts, right: FieldCounts): FieldCounts {
  if (left.totalLength === 0 && right.totalLength > 0) return right
  if (right.totalLength === 0 && left.totalLength > 0) return left
  return {
    docCount: left.docCount + right.docCount,
    totalLength: left.totalLength + right.totalLength,
  }
}
