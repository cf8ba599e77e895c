import { ServiceError } from '../../../lib/errors.ts'
import { readEmbeddingsSettings } from '../../embedding/settings.ts'
import type { SparseIndexSettings } from '../../embedding/sparse-index-settings.ts'

/**
 * The settings in the definition of an index of sparse vectors. CORRUPTION for anything that was never written
 * there; INVALID_ARGUMENT for an index of dense ones.
 */
export function sparseSettingsOf(definition: unknown): SparseIndexSettings {
  const settings = readEmbeddingsSettings(definition)
  if (!settings.sparse) {
    throw new ServiceError('INVALID_ARGUMENT', 'an engine of sparse vectors has no dense ones')
  }
  const { external: _, sparse: __, ...sparse } = settings
  return sparse
}
