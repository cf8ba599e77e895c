// The `pruner` of a query: it drops hits whose scores are much lower than the others.

import { numberOf } from '../../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf } from '../../document/json-object.ts'
import { checkMembers, flagOf } from '../language/query-clause.ts'
import { refuse } from '../query-limits.ts'
import { isMergedCursor } from './merged-cursor.ts'
import { parseAutocut } from './threshold-request.ts'
import type { JsonObject } from '../../document/exact-json.ts'
import type { Clause } from '../language/query-clause.ts'

/** The limits of the pruner. An undefined limit drops nothing. */
export interface Pruner {
  /** Whether hits of a single index are dropped. */
  readonly isMultiIndex: boolean
  readonly minScore: number | undefined
  /** As a share of the best score, from 0 to 1. */
  readonly minRatio: number | undefined
  /** How many standard deviations a score may lie below the mean. */
  readonly deviationsMax: number | undefined
  /** The gap between two neighbouring hits, as a share of the range of scores, from 0 to 1. */
  readonly gapMax: number | undefined
  /** The hits end before this jump of their scores; fusion/autocut.ts says what one is. */
  readonly autocut: number | undefined
}

/** Members that request another order than by score, or a page of hits. */
const EXCLUDED = ['order_by', 'search_after', 'search_before', 'count']

export function parsePruner(body: Clause): Pruner | undefined {
  const members = memberOf(body.members, 'pruner')
  if (members === undefined) return undefined
  if (!isJsonObject(members)) return refuse('pruner', 'must be an object')
  checkHitsByScore(body.members)
  const clause: Clause = { ...body, members, where: 'pruner' }
  checkMembers(clause, [
    'min_absolute_score',
    'min_score_ratio',
    'std_dev_threshold',
    'max_score_gap_percent',
    'require_multi_index',
    'autocut',
  ])
  const gapPercent = boundOf(members, 'max_score_gap_percent', 100)
  return {
    isMultiIndex: flagOf(clause, 'require_multi_index', false),
    minScore: boundOf(members, 'min_absolute_score', Number.MAX_VALUE),
    minRatio: boundOf(members, 'min_score_ratio', 1),
    deviationsMax: boundOf(members, 'std_dev_threshold', Number.MAX_VALUE),
    gapMax: gapPercent === undefined ? undefined : gapPercent / 100,
    autocut: parseAutocut(clause),
  }
}

function checkHitsByScore(members: JsonObject): void {
  const found = EXCLUDED.find((name) => Object.hasOwn(members, name) && !isMerged(members, name))
  if (found === undefined) return
  refuse('pruner', `works on hits in the order of their scores; leave ${found} out`)
}

/** Pages of merged hits are cut from a list that was pruned as a whole. */
function isMerged(members: JsonObject, name: string): boolean {
  const cursor = memberOf(members, name)
  return name !== 'order_by' && isJsonArray(cursor) && isMergedCursor(cursor)
}

function boundOf(members: JsonObject, name: string, max: number): number | undefined {
  const value = memberOf(members, name)
  if (value === undefined) return undefined
  const number = numberOf(value) ?? NaN
  if (number >= 0 && number <= max) return number
  const upTo = max === Number.MAX_VALUE ? '' : ` and at most ${max}`
  return refuse(`pruner.${name}`, `must be a number of at least 0${upTo}`)
}
