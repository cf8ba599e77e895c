import { decodeArtifact } from '../../embedding/artifact.ts'
import type { EmbeddingsIndex } from '../../embedding/written-embeddings.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from '../tables/open-table.ts'
import { textIndexesOf } from '../tables/table-indexes.ts'
import type { LedTable } from './near-tables.ts'
import type { QueriedVectors } from './queried-table.ts'

/** A table as queries see it, with its leaders. `specialOf` reads what its indexes keep. */
export function queriedTable(
  table: OpenTable,
  specialOf: NonNullable<LedTable['specialOf']>,
): LedTable {
  const { tableName: name, schema, shards, indexes, embeddings } = table
  const shardOf = (key: Buffer): Shard => table.shardOf(key)
  const vectorIndexes = embeddings.size === 0 ? NO_VECTORS : vectorIndexesOf(embeddings)
  return {
    name,
    schema,
    textIndexes: textIndexesOf(indexes),
    vectorIndexes,
    shards,
    shardOf,
    specialOf,
    vectorsOf: async (index, key, signal) => {
      const id = embeddings.get(index)?.id
      if (id === undefined) return undefined
      const [found] = await shardOf(key).artifacts({ keys: [key], indexes: [id] }, { signal })
      return denseRows(found?.[0])
    },
  }
}

const NO_VECTORS: readonly QueriedVectors[] = []

/** Sparse indexes are refused at their creation, until they can be searched. */
function vectorIndexesOf(
  embeddings: ReadonlyMap<string, EmbeddingsIndex>,
): readonly QueriedVectors[] {
  return [...embeddings].flatMap(([name, { settings }]) => {
    if (settings.sparse) return []
    const { dimension, metric, external } = settings
    return [{ name, dimension, metric, isManaged: !external }]
  })
}

/** A parked artifact has no vectors. */
function denseRows(artifact: Buffer | undefined): readonly Float32Array[] | undefined {
  if (artifact === undefined) return undefined
  const decoded = decodeArtifact(artifact)
  return decoded.kind === 'dense' ? decoded.rows.map(({ vector }) => vector) : undefined
}
