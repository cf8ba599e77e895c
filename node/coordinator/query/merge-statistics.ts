import type { TextStatistics } from '../../index/text/search/text-search.ts'

/** Of all shards together: every number is a sum. */
export function mergeStatistics(all: readonly TextStatistics[]): TextStatistics {
  const fields = new Map<string, { docCount: number; totalLength: number }>()
  const docFreqs = new Map<string, number>()
  for (const part of all) {
    for (const [field, { docCount, totalLength }] of part.fields) {
      const known = fields.get(field) ?? { docCount: 0, totalLength: 0 }
      fields.set(field, {
        docCount: known.docCount + docCount,
        totalLength: known.totalLength + totalLength,
      })
    }
    for (const [term, count] of part.docFreqs) docFreqs.set(term, (docFreqs.get(term) ?? 0) + count)
  }
  return { fields, docFreqs }
}
