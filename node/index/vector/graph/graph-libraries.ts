import { ServiceError } from '../../../../lib/errors.ts'
import type { DenseIndexSettings, VectorEngine } from '../../../embedding/settings.ts'
import { FAISS, hasFaiss } from './faiss-graph.ts'
import { USEARCH } from './usearch-graph.ts'
import type { GraphLibrary } from './vector-graph.ts'

/** By engine; `exact` has no graphs. */
const LIBRARIES: Readonly<Record<VectorEngine, GraphLibrary | undefined>> = {
  usearch: USEARCH,
  exact: undefined,
  faiss: FAISS,
}

/** Whether an index with this engine can be opened here. */
function isEngineAvailable(engine: VectorEngine): boolean {
  return engine !== 'faiss' || hasFaiss()
}

/** Why there can be no index with these settings here; undefined if there can be. */
export function whyUnavailable({
  engine,
  quantization,
}: Pick<DenseIndexSettings, 'engine' | 'quantization'>): string | undefined {
  if (engine === 'faiss' && quantization === 'binary') {
    return 'the engine "faiss" has no graphs of binary vectors; use usearch, or another quantization'
  }
  if (isEngineAvailable(engine)) return undefined
  return `the library of the engine "${engine}" is not installed; use usearch or exact`
}

/** Undefined for an engine without graphs. UNAVAILABLE if the library is not installed. */
export function libraryOf(engine: VectorEngine): GraphLibrary | undefined {
  if (isEngineAvailable(engine)) return LIBRARIES[engine]
  throw new ServiceError(
    'UNAVAILABLE',
    `the library of the engine "${engine}" is not installed; install it, or choose another engine`,
  )
}
