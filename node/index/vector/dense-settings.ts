import { ServiceError } from '../../../lib/errors.ts'
import { readEmbeddingsSettings, type DenseIndexSettings } from '../../embedding/settings.ts'

/**
 * The settings in the definition of an index of vectors. CORRUPTION for anything that was never written
 * there; INVALID_ARGUMENT for an index of sparse vectors, which no engine here has.
 */
export function parseDenseSettings(value: unknown): DenseIndexSettings {
  const settings = readEmbeddingsSettings(value)
  if (settings.sparse) {
    throw new ServiceError('INVALID_ARGUMENT', 'an engine of dense vectors has no sparse ones')
  }
  const { dimension, metric, engine, quantization } = settings
  return { dimension, metric, engine, quantization }
}
