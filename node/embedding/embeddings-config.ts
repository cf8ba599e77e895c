// The configuration of an embeddings index, as clients write it and as answers show it.

import { ServiceError } from '../../lib/errors.ts'
import { parseManagedConfig, showManagedConfig } from './managed-config.ts'
import { isPlainObject, type PlainMembers } from './setting-members.ts'
import {
  DIMENSION_MAX,
  isDimension,
  isManaged,
  METRICS,
  QUANTIZATIONS,
  readEmbeddingsSettings,
  VECTOR_ENGINES,
  type DenseIndexSettings,
  type EmbeddingsSettings,
  type RequestedManaged,
} from './settings.ts'
import {
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  parseSparseSettings,
  showSparseSettings,
} from './sparse-index-settings.ts'

/** The members of a configuration beside those that every kind of index has. */
export type ConfigMembers = PlainMembers

/** The members for vectors that the server computes: an external index has none of these. */
const MANAGED_MEMBERS = ['field', 'template', 'embedder', 'summarizer', 'chunker'] as const
const DENSE_MEMBERS = ['dimension', 'distance_metric', 'engine', 'quantization'] as const
const SPARSE_MEMBERS = ['top_k', 'min_weight', 'chunk_size'] as const

type Check = (value: unknown) => string | undefined

/** By member, what is wrong with its value. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  ['external', isBoolean],
  ['sparse', isBoolean],
  ['dimension', (value) => must(isDimension(value), `an integer from 1 to ${DIMENSION_MAX}`)],
  ['field', isText],
  ['template', isText],
  ['distance_metric', oneOf(METRICS)],
  ['engine', oneOf(VECTOR_ENGINES)],
  ['quantization', oneOf(QUANTIZATIONS)],
  ['embedder', isObject],
  ['summarizer', isObject],
  ['chunker', isObject],
  ['top_k', atLeast(1)],
  ['min_weight', (value) => must(isNumber(value) && value >= 0, 'a number, at least 0')],
  ['chunk_size', between(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX)],
])

/**
 * Checks a configuration. `where` names the index in messages. INVALID_ARGUMENT names the first member that
 * does not fit. What only models and templates can tell is checked where the index is created.
 */
export function parseEmbeddingsConfig(
  members: ConfigMembers,
  where: string,
): EmbeddingsSettings | RequestedManaged {
  for (const [name, value] of Object.entries(members)) checkMember(name, value, where)
  const { external = false, sparse = false } = members
  refuseOthers(members, sparse === true ? DENSE_MEMBERS : SPARSE_MEMBERS, (name) =>
    invalid(
      where,
      `${name} is a setting of ${sparse === true ? 'dense' : 'sparse'} vectors; leave it out`,
    ),
  )
  if (external === true) return parseExternal(members, where)
  if (sparse === true) {
    throw invalid(where, 'no provider makes sparse vectors; set external to true, and write them')
  }
  const { dimension } = members
  return {
    external: false,
    sparse: false,
    dimension: isDimension(dimension) ? dimension : undefined,
    ...parseForm(members),
    ...parseManagedConfig(members, where),
  }
}

/** The configuration that makes these settings, with all defaults. Keys that were written plainly are hidden. */
export function showEmbeddingsConfig(settings: unknown): ConfigMembers {
  const read = readEmbeddingsSettings(settings)
  if (read.sparse) return { external: true, sparse: true, ...showSparseSettings(read) }
  const { dimension, metric, engine, quantization } = read
  const form = { dimension, distance_metric: metric, engine, quantization }
  return isManaged(read) ? { ...showManagedConfig(read), ...form } : { external: true, ...form }
}

function checkMember(name: string, value: unknown, where: string): void {
  const check = CHECKS.get(name)
  if (check === undefined) {
    throw invalid(
      where,
      `"${name.slice(0, 128)}" is not a setting of an embeddings index; leave it out`,
    )
  }
  const problem = check(value)
  if (problem !== undefined) throw invalid(where, `${name} must be ${problem}`)
}

function parseExternal(members: ConfigMembers, where: string): EmbeddingsSettings {
  refuseOthers(members, MANAGED_MEMBERS, (name) =>
    invalid(
      where,
      `${name} is for vectors that the store computes; leave it out, or leave external out`,
    ),
  )
  if (members['sparse'] === true) {
    return { external: true, sparse: true, ...parseSparseSettings(members) }
  }
  const { dimension } = members
  if (!isDimension(dimension)) {
    throw invalid(where, 'dimension is missing; give the count of numbers in each vector')
  }
  return { external: true, sparse: false, dimension, ...parseForm(members) }
}

/** The members are checked, so what is not there takes its default. */
function parseForm(members: ConfigMembers): Omit<DenseIndexSettings, 'dimension'> {
  const { distance_metric: metric, engine, quantization } = members
  return {
    metric: METRICS.find((known) => known === metric) ?? 'l2_squared',
    engine: VECTOR_ENGINES.find((known) => known === engine) ?? 'usearch',
    quantization: QUANTIZATIONS.find((known) => known === quantization) ?? 'f16',
  }
}

function refuseOthers(
  members: ConfigMembers,
  names: readonly string[],
  refusalOf: (name: string) => ServiceError,
): void {
  const found = names.find((name) => members[name] !== undefined)
  if (found !== undefined) throw refusalOf(found)
}

function isBoolean(value: unknown): string | undefined {
  return must(typeof value === 'boolean', 'true or false')
}

function isText(value: unknown): string | undefined {
  return must(typeof value === 'string' && value !== '', 'a string that is not empty')
}

function isObject(value: unknown): string | undefined {
  return must(isPlainObject(value), 'an object')
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function atLeast(min: number): Check {
  return (value) =>
    must(isNumber(value) && Number.isInteger(value) && value >= min, `an integer, at least ${min}`)
}

function between(min: number, max: number): Check {
  const isIn = (value: unknown): boolean => isNumber(value) && value >= min && value <= max
  return (value) => must(isIn(value) && Number.isInteger(value), `an integer from ${min} to ${max}`)
}

function oneOf(known: readonly string[]): Check {
  return (value) =>
    must(
      known.some((one) => one === value),
      known.join(', '),
    )
}

/** What a value had to be, when it is something else. */
function must(isRight: boolean, wanted: string): string | undefined {
  return isRight ? undefined : wanted
}

function invalid(where: string, problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
