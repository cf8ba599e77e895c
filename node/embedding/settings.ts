// The settings of an embeddings index, as its table's record keeps them.

import { readManagedSettings, type ManagedSettings } from './managed-settings.ts'
import { failSetting as fail, membersOf, type PlainMembers } from './setting-members.ts'
import { readSparseSettings, type SparseIndexSettings } from './sparse-index-settings.ts'

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
type ExternalSettings =
  | ({ readonly external: true; readonly sparse: false } & DenseIndexSettings)
  | ({ readonly external: true; readonly sparse: true } & SparseIndexSettings)

/** An index whose vectors the store makes. */
export type ManagedIndexSettings = {
  readonly external: false
  readonly sparse: false
} & (DenseIndexSettings & ManagedSettings)

export type EmbeddingsSettings = ExternalSettings | ManagedIndexSettings

/** Settings as a client asks for them: nobody may know yet how many numbers the model answers. */
export type RequestedManaged = Omit<ManagedIndexSettings, 'dimension'> & {
  readonly dimension: number | undefined
}

export function isManaged(settings: EmbeddingsSettings): settings is ManagedIndexSettings {
  return !settings.external
}

/** Reads the settings in a table's record; CORRUPTION for anything that was never written there. */
export function readEmbeddingsSettings(settings: unknown): EmbeddingsSettings {
  const members = membersOf(settings, 'settings')
  const { external, sparse, dimension } = members
  if (external === true && sparse === true) {
    return { external, sparse, ...readSparseSettings(members) }
  }
  const dense = {
    dimension: isDimension(dimension) ? dimension : fail('dimension'),
    ...readForm(members),
  }
  if (sparse !== false) return fail('sparse')
  if (external === true) return { external, sparse, ...dense }
  if (external !== false) return fail('external')
  return { external, sparse, ...dense, ...readManagedSettings(members) }
}

/** The settings of a managed index that is about to be created; undefined for any other index. */
export function readRequestedManaged(settings: unknown): RequestedManaged | undefined {
  const members = membersOf(settings, 'settings')
  const { external, sparse, dimension } = members
  if (external !== false || sparse !== false) return undefined
  if (dimension !== undefined && !isDimension(dimension)) return fail('dimension')
  return { external, sparse, dimension, ...readForm(members), ...readManagedSettings(members) }
}

export function isDimension(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= DIMENSION_MAX
  )
}

function readForm(members: PlainMembers): Omit<DenseIndexSettings, 'dimension'> {
  const { metric, engine, quantization } = members
  return {
    metric: METRICS.find((known) => known === metric) ?? fail('metric'),
    engine: VECTOR_ENGINES.find((known) => known === engine) ?? fail('engine'),
    quantization: QUANTIZATIONS.find((known) => known === quantization) ?? fail('quantization'),
  }
}
