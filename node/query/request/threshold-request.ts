// The `thresholds` of `merge_config`: by list, what its hits must be like to count.

import { numberOf } from '../../document/exact-json.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { checkMembers, integerOf, parseNumber } from '../language/query-clause.ts'
import { refuse } from '../query-limits.ts'
import type { Clause } from '../language/query-clause.ts'

/** What is undefined leaves no hit out. */
export interface ListThreshold {
  /** For words and sparse vectors: the least value. */
  readonly minScore: number | undefined
  /** For dense vectors. */
  readonly distanceUnder: number | undefined
  readonly distanceOver: number | undefined
  /** The list ends before this jump of its values; fusion/autocut.ts says what one is. */
  readonly autocut: number | undefined
}

const THRESHOLDS_MAX = 64
/** A client may ask for the hits before the first jump, the second one, and so on. */
export const AUTOCUT_MAX = 10

/** By the name of an index, or `full_text`. Undefined if the clause has none. */
export function parseThresholds(config: Clause): ReadonlyMap<string, ListThreshold> | undefined {
  const members = memberOf(config.members, 'thresholds')
  if (members === undefined) return undefined
  const where = `${config.where}.thresholds`
  if (!isJsonObject(members)) return refuse(where, 'must be an object: by index, its threshold')
  const names = Object.keys(members)
  if (names.length > THRESHOLDS_MAX) refuse(where, `may have at most ${THRESHOLDS_MAX} members`)
  const clause: Clause = { ...config, members, where }
  return new Map(names.map((name) => [name, parseThreshold(clause, name)]))
}

export function parseAutocut(clause: Clause): number | undefined {
  return integerOf(clause, 'autocut', { min: 1, max: AUTOCUT_MAX })
}

function parseThreshold(all: Clause, name: string): ListThreshold {
  const where = `${all.where}.${name.slice(0, 64)}`
  const members = memberOf(all.members, name)
  if (!isJsonObject(members)) return refuse(where, 'must be an object')
  const clause: Clause = { ...all, members, where }
  checkMembers(clause, ['min_score', 'distance_under', 'distance_over', 'autocut'])
  const distanceUnder = distanceOf(clause, 'distance_under')
  const distanceOver = distanceOf(clause, 'distance_over')
  if (distanceUnder !== undefined && distanceOver !== undefined && distanceOver > distanceUnder) {
    refuse(`${where}.distance_over`, 'is above distance_under, so that no hit can be between them')
  }
  return {
    minScore: minScoreOf(clause),
    distanceUnder,
    distanceOver,
    autocut: parseAutocut(clause),
  }
}

function minScoreOf({ members, where }: Clause): number | undefined {
  const value = memberOf(members, 'min_score')
  if (value === undefined) return undefined
  const number = numberOf(value) ?? NaN
  return number >= 0 ? number : refuse(`${where}.min_score`, 'must be a number of at least 0')
}

function distanceOf({ members, where }: Clause, name: string): number | undefined {
  const value = memberOf(members, name)
  return value === undefined ? undefined : parseNumber(value, `${where}.${name}`)
}
