// The `merge_config` of a query: how the hits of several indexes become one list.

import { numberOf } from '../../document/exact-json.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { checkMembers, choiceOf, integerOf } from '../language/query-clause.ts'
import { QUERY_LIMIT_MAX, refuse } from '../query-limits.ts'
import { parseAutocut, parseThresholds, type ListThreshold } from './threshold-request.ts'
import type { Clause } from '../language/query-clause.ts'

/** fusion/fuse-lists.ts says what they do. */
export const MERGE_STRATEGIES = ['rrf', 'rsf', 'failover'] as const
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number]

/** What the client said of it; the rest has defaults. */
export interface MergeConfig {
  readonly strategy: MergeStrategy
  /** By the name of an index, or `full_text`. One that is not named has 1. */
  readonly weights: ReadonlyMap<string, number>
  readonly rankConstant: number
  /** How many hits of each index count. Undefined: the plan of the query decides. */
  readonly windowSize: number | undefined
  /** By the name of an index, or `full_text`: what its hits must be like to count. */
  readonly thresholds: ReadonlyMap<string, ListThreshold> | undefined
  /** Where each list ends by itself, unless its threshold says so; undefined: none does. */
  readonly autocut: number | undefined
}

const MEMBERS = [
  'strategy',
  'weights',
  'rank_constant',
  'window_size',
  'thresholds',
  'autocut',
] as const
const RANK_CONSTANT = 60
const WEIGHTS_MAX = 64
const NUMBER_MAX = 1e6

/** Undefined if the query has none. */
export function parseMergeConfig(body: Clause): MergeConfig | undefined {
  const members = memberOf(body.members, 'merge_config')
  if (members === undefined) return undefined
  if (!isJsonObject(members)) return refuse('merge_config', 'must be an object')
  const clause: Clause = { ...body, members, where: 'merge_config' }
  checkMembers(clause, MEMBERS)
  return {
    strategy: choiceOf(clause, 'strategy', MERGE_STRATEGIES) ?? 'rrf',
    weights: parseWeights(clause),
    rankConstant: boundedOf(clause, 'rank_constant') ?? RANK_CONSTANT,
    windowSize: integerOf(clause, 'window_size', { min: 1, max: QUERY_LIMIT_MAX }),
    thresholds: parseThresholds(clause),
    autocut: parseAutocut(clause),
  }
}

export const MERGE_DEFAULTS: MergeConfig = {
  strategy: 'rrf',
  weights: new Map(),
  rankConstant: RANK_CONSTANT,
  windowSize: undefined,
  thresholds: undefined,
  autocut: undefined,
}

function parseWeights(clause: Clause): ReadonlyMap<string, number> {
  const members = memberOf(clause.members, 'weights')
  if (members === undefined) return new Map()
  if (!isJsonObject(members)) return refuse('merge_config.weights', 'must be an object of numbers')
  const names = Object.keys(members)
  if (names.length > WEIGHTS_MAX) {
    refuse('merge_config.weights', `may have at most ${WEIGHTS_MAX} members`)
  }
  const weights: Clause = { ...clause, members, where: 'merge_config.weights' }
  return new Map(names.map((name) => [name, boundedOf(weights, name) ?? 1]))
}

function boundedOf({ members, where }: Clause, name: string): number | undefined {
  const value = memberOf(members, name)
  if (value === undefined) return undefined
  const number = numberOf(value) ?? NaN
  if (number >= 0 && number <= NUMBER_MAX) return number
  return refuse(`${where}.${name.slice(0, 64)}`, `must be a number from 0 to ${NUMBER_MAX}`)
}
