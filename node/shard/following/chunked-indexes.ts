// The indexes of vectors whose chunks full-text indexes have, too.

import { isManaged, readEmbeddingsSettings } from '../../embedding/settings.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { feedOf } from '../../index/kinds/index-feeds.ts'

/** Its name stands in the names of fields, its id in the places of artifacts. */
export type ChunkedIndex = Pick<IndexDefinition, 'id' | 'name'>

/** Those of a table, in the order of its record. */
export function chunkedIndexesOf(indexes: readonly IndexDefinition[]): readonly ChunkedIndex[] {
  return indexes.filter(({ kind, settings }) => {
    if (feedOf(kind) !== 'artifacts') return false
    const read = readEmbeddingsSettings(settings)
    return isManaged(read) && read.chunker?.fullText === true
  })
}
