import type { VectorEngine } from '../../../embedding/settings.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { USEARCH } from './usearch-graph.ts'
import type { GraphLibrary } from './vector-graph.ts'

/** By engine; `exact` has no graphs. */
const LIBRARIES: Readonly<Record<VectorEngine, GraphLibrary | 'none' | undefined>> = {
  usearch: USEARCH,
  exact: 'none',
  faiss: undefined,
}

/** Whether an index with this engine can be opened here. */
export function isEngineAvailable(engine: VectorEngine): boolean {
  return LIBRARIES[engine] !== undefined
}

/** Undefined for an engine without graphs. UNAVAILABLE if the library is not installed. */
export function libraryOf(engine: VectorEngine): GraphLibrary | undefined {
  const library = LIBRARIES[engine]
  if (library === undefined) {
    throw new ServiceError(
      'UNAVAILABLE',
      `the library of the engine "${engine}" is not installed; choose "usearch" or "exact"`,
    )
  }
  return library === 'none' ? undefined : library
}
