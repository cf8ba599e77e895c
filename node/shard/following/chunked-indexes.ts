// The indexes of vectors whose chunks full-text indexes have, too.

import { isManaged } from '../../embedding/settings.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { embeddingsOf } from '../../index/kinds/index-kinds.ts'

/** Its name stands in the names of fields, its id in the places of artifacts. */
export type ChunkedIndex = Pick<IndexDefinition, 'id' | 'name'>

/** Those of a table, in the order of its record. */
export function chunkedIndexesOf(indexes: readonly IndexDefinition[]): readonly ChunkedIndex[] {
  return indexes.filter((index) => {
    const settings = embeddingsOf(index)
    return settings !== undefined && isManaged(settings) && settings.chunker?.fullText === true
  })
}
