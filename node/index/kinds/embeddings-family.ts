import { readEmbeddingsSettings } from '../../embedding/settings.ts'
import type { EngineFamily, FamilyParts } from '../host/index-engine.ts'
import { openSparseFamily } from '../sparse/hosted/sparse-family.ts'
import { openVectorFamily } from '../vector/hosted/vector-family.ts'

/** The engines of indexes of vectors: the settings of an index say whether its vectors are dense or sparse. */
export function openEmbeddingsFamily(parts: FamilyParts): EngineFamily {
  const dense = openVectorFamily(parts)
  const sparse = openSparseFamily(parts)
  return {
    // One bound for both: their tails are counted together.
    unflushedBytesMax: Math.min(dense.unflushedBytesMax, sparse.unflushedBytesMax),
    open(opening, onWork) {
      const { settings } = opening.definition
      const family = readEmbeddingsSettings(settings).sparse ? sparse : dense
      return family.open(opening, onWork)
    },
    caches: () => ({ ...dense.caches(), ...sparse.caches() }),
  }
}
