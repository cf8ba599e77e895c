// The settings of an embeddings index, as its table's record keeps them.

import { ServiceError } from '../../lib/errors.ts'

/** How far two vectors are apart. `inner_product` is negated, so that smaller is nearer for each. */
export type Metric = 'l2_squared' | 'inner_product' | 'cosine'

/** What the graph of an engine keeps of a number. Distances in answers are those of the exact vectors. */
export type Quantization = 'f32' | 'f16' | 'i8' | 'binary'

/** What searches an index: graphs of `usearch` or `faiss`, or `exact`, which compares with every vector. */
export type VectorEngine = 'usearch' | 'exact' | 'faiss'

/** The settings of an index of dense vectors. */
export interface DenseIndexSettings {
  /** The count of numbers in each vector, 1 to DIMENSION_MAX. */
  readonly dimension: number
  readonly metric: Metric
  readonly engine: VectorEngine
  readonly quantization: Quantization
}

/** Above the widest models in use, and a vector still fits into 64 KiB. */
export const DIMENSION_MAX = 16_384
export const METRICS: readonly Metric[] = ['l2_squared', 'inner_product', 'cosine']
export const QUANTIZATIONS: readonly Quantization[] = ['f32', 'f16', 'i8', 'binary']
export const VECTOR_ENGINES: readonly VectorEngine[] = ['usearch', 'exact', 'faiss']

/** An index whose vectors the clients write. */
export type EmbeddingsSettings =
  | ({ readonly external: true; readonly sparse: false } & DenseIndexSettings)
  | { readonly external: true; readonly sparse: true }

/** Reads the settings in a table's record; CORRUPTION for anything that was never written there. */
export function readEmbeddingsSettings(settings: unknown): EmbeddingsSettings {
  const { external, sparse, dimension, metric, engine, quantization } = membersOf(settings)
  if (external !== true) throw corrupt('external')
  if (sparse === true) return { external, sparse }
  return {
    external,
    sparse: sparse === false ? sparse : fail('sparse'),
    dimension: isDimension(dimension) ? dimension : fail('dimension'),
    metric: METRICS.find((known) => known === metric) ?? fail('metric'),
    engine: VECTOR_ENGINES.find((known) => known === engine) ?? fail('engine'),
    quantization: QUANTIZATIONS.find((known) => known === quantization) ?? fail('quantization'),
  }
}

export function isDimension(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= DIMENSION_MAX
  )
}

function membersOf(settings: unknown): Readonly<Record<string, unknown>> {
  return typeof settings === 'object' && settings !== null ? { ...settings } : fail('settings')
}

function fail(member: string): never {
  throw corrupt(member)
}

function corrupt(member: string): ServiceError {
  return new ServiceError('CORRUPTION', `settings of an embeddings index: bad ${member}`)
}
