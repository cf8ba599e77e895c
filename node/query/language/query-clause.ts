// One JSON object of a query while it is parsed, and the readers of its members. The readers throw
// INVALID_ARGUMENT with the member's place.

import { describeKind, numberOf } from '../../document/exact-json.ts'
import { parseFieldPath } from '../../document/field-path.ts'
import { isJsonArray, memberOf } from '../../document/json-object.ts'
import { QUERY_BOOST_MAX, QUERY_TEXT_LENGTH_MAX, refuse } from '../query-limits.ts'
import type { JsonObject, JsonValue } from '../../document/exact-json.ts'
import type { ClauseBudget } from '../query-limits.ts'
import type { FieldName, Fuzziness } from '../query-tree.ts'

/** One object of a query, its place and the limits that remain. */
export interface Clause {
  readonly members: JsonObject
  /**
   * The object's place in the request, such as `full_text_search.must`; empty for the request
   * itself.
   */
  readonly where: string
  readonly depth: number
  readonly budget: ClauseBudget
}

const PREFIX_LENGTH_MAX = 100
const FUZZINESS: readonly Fuzziness[] = [0, 1, 2, 'auto']

export function boostOf({ members, where }: Clause): number {
  const boost = numberOf(memberOf(members, 'boost') ?? 1)
  if (boost !== undefined && boost >= 0 && boost <= QUERY_BOOST_MAX) return boost
  return refuse(
    placeOf(where, 'boost'),
    `must be a number of at least 0 and at most ${QUERY_BOOST_MAX}`,
  )
}

export function fieldOf({ members, where }: Clause): FieldName {
  const field = memberOf(members, 'field')
  if (field === undefined) return undefined
  const place = placeOf(where, 'field')
  if (typeof field !== 'string') refuse(place, 'must be a string, the name of a field')
  return parseFieldPath(field, place).text
}

/** `lengthMax` counts UTF-16 code units. */
export function textOf(clause: Clause, name: string, lengthMax = QUERY_TEXT_LENGTH_MAX): string {
  return (
    optionalTextOf(clause, name, lengthMax) ??
    refuse(placeOf(clause.where, name), 'must be a string')
  )
}

export function optionalTextOf(
  { members, where }: Clause,
  name: string,
  lengthMax = QUERY_TEXT_LENGTH_MAX,
): string | undefined {
  const text = memberOf(members, name)
  return text === undefined ? undefined : parseText(text, placeOf(where, name), lengthMax)
}

export function parseText(
  value: JsonValue | undefined,
  where: string,
  lengthMax = QUERY_TEXT_LENGTH_MAX,
): string {
  if (typeof value !== 'string') refuse(where, 'must be a string')
  if (value.length > lengthMax) refuse(where, `may have at most ${lengthMax} characters`)
  return value
}

export function flagOf({ members, where }: Clause, name: string, fallback: boolean): boolean {
  const flag = memberOf(members, name) ?? fallback
  if (typeof flag !== 'boolean') refuse(placeOf(where, name), 'must be true or false')
  return flag
}

export function choiceOf<Choice extends string>(
  { members, where }: Clause,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = memberOf(members, name)
  if (value === undefined) return undefined
  const known = choices.find((choice) => choice === value)
  return (
    known ??
    refuse(placeOf(where, name), `must be ${choices.map((one) => `"${one}"`).join(' or ')}`)
  )
}

export function integerOf(
  { members, where }: Clause,
  name: string,
  range: { readonly min: number; readonly max: number },
): number | undefined {
  const value = memberOf(members, name)
  if (value === undefined) return undefined
  const { min, max } = range
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value
  }
  const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`
  return refuse(placeOf(where, name), `must be an integer of at least ${min}${upTo}`)
}

/** Reads a list of at least one element. */
export function listOf(
  { members, where }: Clause,
  name: string,
  elements: { readonly what: string; readonly max: number },
): readonly JsonValue[] {
  const list = memberOf(members, name)
  if (!isJsonArray(list) || list.length === 0) {
    refuse(placeOf(where, name), `must be an array of at least one ${elements.what}`)
  }
  if (list.length > elements.max) refuse(placeOf(where, name), `may hold at most ${elements.max}`)
  return list
}

export function parseNumber(value: JsonValue | undefined, where: string): number {
  const number = numberOf(value)
  if (number !== undefined && Number.isFinite(number)) return number
  return refuse(where, `must be a number, not ${value === undefined ? 'absent' : kindOf(value)}`)
}

export function fuzzinessOf({ members, where }: Clause, fallback: Fuzziness): Fuzziness {
  const value = memberOf(members, 'fuzziness') ?? fallback
  const known = FUZZINESS.find((one) => one === value)
  return known ?? refuse(placeOf(where, 'fuzziness'), 'must be 0, 1, 2 or "auto"')
}

export function prefixLengthOf(clause: Clause): number {
  return integerOf(clause, 'prefix_length', { min: 0, max: PREFIX_LENGTH_MAX }) ?? 0
}

export function checkMembers({ members, where }: Clause, allowed: readonly string[]): void {
  const unknown = Object.keys(members).find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  refuse(where, `unknown field ${shown(unknown)}; allowed here are ${allowed.join(', ')}`)
}

/** The place of a member. Members of the request itself have no prefix. */
function placeOf(where: string, name: string): string {
  return where === '' ? name : `${where}.${name}`
}

/** A name or value of the client as messages show it: in quotes, and cut if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}...`)
}

/** Names the kind of a value that is not a double. The client sees a RawNumber as a number. */
function kindOf(value: JsonValue): string {
  const kind = describeKind(value)
  return kind === 'number' ? 'one beyond the range of a double' : kind
}
