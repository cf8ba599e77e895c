import { isRawNumber } from '../document/exact-json.ts'
import type { JsonArray, JsonObject, JsonValue } from '../document/exact-json.ts'
import { compareNumbers, isJsonNumber } from '../document/json-number.ts'
import { isJsonArray, isJsonObject, memberOf, namesOf } from '../document/json-object.ts'
import type { Sliced } from '../../lib/sliced.ts'
import type { RenderBudget } from './render-budget.ts'
import type { TemplateValue } from './template.ts'
import { checkDepth } from './value-text.ts'

interface Compared {
  readonly budget: RenderBudget
  readonly depth: number
}

/**
 * Whether two values are equal: of one type and with the same content, in any order of members. What
 * is not there equals null.
 */
export function* equalValues(
  left: TemplateValue,
  right: TemplateValue,
  { budget, depth }: Compared,
): Sliced<boolean> {
  if (budget.spend()) yield
  const [a, b]: readonly [JsonValue, JsonValue] = [left ?? null, right ?? null]
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false
    if (budget.spendOnText(a.length)) yield
    return a === b
  }
  if (a === b) return true
  if (isJsonNumber(a) && isJsonNumber(b)) {
    // Long numbers become integers of any size, which takes the square of their digits.
    if (budget.spendOnText((digitsOf(a) + digitsOf(b)) ** 2)) yield
    return compareNumbers(a, b) === 0
  }
  return yield* equalStructures(a, b, { budget, depth: depth + 1 })
}

function* equalStructures(a: JsonValue, b: JsonValue, compared: Compared): Sliced<boolean> {
  checkDepth(compared.depth)
  if (isJsonArray(a) && isJsonArray(b)) return yield* equalLists(a, b, compared)
  return isJsonObject(a) && isJsonObject(b) ? yield* equalObjects(a, b, compared) : false
}

function digitsOf(value: JsonValue): number {
  return isRawNumber(value) ? value.rawJSON.length : 1
}

function* equalLists(a: JsonArray, b: JsonArray, compared: Compared): Sliced<boolean> {
  if (a.length !== b.length) return false
  for (const [at, element] of a.entries()) {
    if (!(yield* equalValues(element, b[at], compared))) return false
  }
  return true
}

function* equalObjects(a: JsonObject, b: JsonObject, compared: Compared): Sliced<boolean> {
  const names = namesOf(a)
  const otherCount = namesOf(b).length
  // Listing the names is work also when their numbers differ.
  if (compared.budget.spend(names.length + otherCount)) yield
  if (names.length !== otherCount) return false
  for (const name of names) {
    if (!Object.hasOwn(b, name)) return false
    if (!(yield* equalValues(memberOf(a, name), memberOf(b, name), compared))) return false
  }
  return true
}
