import { unreachable } from '../../../lib/assert.ts'
import { decodeArtifact, decodeArtifactRows } from '../../embedding/artifact.ts'
import { isManaged } from '../../embedding/settings.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import type { EmbeddingsIndex } from '../../embedding/written-embeddings.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import { textIndexesOf } from '../../catalog/tables/table-indexes.ts'
import type { LedTable } from './near-tables.ts'
import type { FoundPart, QueriedVectors } from './queried-table.ts'

/** What a query reads of a table beside its shards. */
export type QueriedTableParts = Required<Pick<LedTable, 'specialOf' | 'fieldsNow'>>

/** A table as queries see it, with its leaders. `specialOf` reads what its indexes keep. */
export function queriedTable(
  table: OpenTable,
  { specialOf, fieldsNow }: QueriedTableParts,
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
    fieldsNow,
    emptyVectors: async (names) => {
      const told = names.map(async (index) => ((await isEmpty(shards, index)) ? [index] : []))
      return new Set((await Promise.all(told)).flat())
    },
    vectorsOf: async (index, key, signal) => {
      const id = embeddings.get(index)?.id
      if (id === undefined) return undefined
      const [found] = await shardOf(key).artifacts({ keys: [key], indexes: [id] }, { signal })
      return vectorRows(found?.[0])
    },
    ...([...embeddings.values()].some(keepsChunks) && {
      chunkTextOf: async ({ index, key, chunk }: FoundPart, signal: AbortSignal) => {
        const known = embeddings.get(index)
        if (known === undefined || !keepsChunks(known)) return undefined
        const asked = { keys: [key], indexes: [known.id] }
        const [found] = await shardOf(key).artifacts(asked, { signal })
        const artifact = found?.[0]
        return artifact && decodeArtifact(artifact).texts?.chunks?.[chunk]
      },
    }),
  }
}

async function isEmpty(shards: readonly Shard[], index: string): Promise<boolean> {
  const asked = shards.map(async (shard) => (await shard.indexStatus(index)).totalIndexed === 0)
  const told = await Promise.allSettled(asked)
  return told.every((one) => one.status === 'fulfilled' && one.value)
}

const NO_VECTORS: readonly QueriedVectors[] = []

function keepsChunks({ settings }: EmbeddingsIndex): boolean {
  if (!isManaged(settings)) return false
  return settings.chunker?.storeChunks === true || settings.chunker?.fullText === true
}

function vectorIndexesOf(
  embeddings: ReadonlyMap<string, EmbeddingsIndex>,
): readonly QueriedVectors[] {
  return [...embeddings].map(([name, { settings }]) => {
    const index = { name, isManaged: !settings.external }
    if (settings.sparse) return { ...index, sparse: true }
    const { dimension, metric } = settings
    return { ...index, sparse: false, dimension, metric }
  })
}

/** A parked artifact has no vectors. */
function vectorRows(artifact: Buffer | undefined): readonly WrittenVector[] | undefined {
  if (artifact === undefined) return undefined
  const decoded = decodeArtifactRows(artifact)
  switch (decoded.kind) {
    case 'dense':
      return decoded.rows.map(({ vector }) => ({ kind: 'dense', vector }))
    case 'sparse':
      return decoded.rows.map(({ terms, weights }) => ({ kind: 'sparse', terms, weights }))
    case 'parked':
      return undefined
    default:
      return unreachable(decoded)
  }
}
