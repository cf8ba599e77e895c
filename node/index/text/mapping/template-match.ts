// Finds the dynamic template that decides a field: the first whose conditions all hold.

import { unreachable } from '../../../../lib/assert.ts'
import { isRawNumber } from '../../../document/exact-json.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import { matchesWildcard, parseWildcard } from '../../../query/wildcard.ts'
import { parseRfc3339Ms } from '../../../schema/rfc3339.ts'
import type { JsonValue } from '../../../document/exact-json.ts'
import type { DynamicTemplate } from '../../../schema/dynamic-templates.ts'

/** `value` is one element and never an array. */
export function templateFor(
  templates: readonly DynamicTemplate[],
  path: readonly string[],
  value: JsonValue,
): DynamicTemplate | undefined {
  return templates.find((template) => applies(template, path, value))
}

function applies(template: DynamicTemplate, path: readonly string[], value: JsonValue): boolean {
  const { match, unmatch, path_match, path_unmatch, match_mapping_type } = template
  const name = path.at(-1) ?? ''
  if (match !== undefined && !matchesGlob(match, name)) return false
  if (unmatch !== undefined && matchesGlob(unmatch, name)) return false
  if (path_match !== undefined && !matchesPath(path_match, path)) return false
  if (path_unmatch !== undefined && matchesPath(path_unmatch, path)) return false
  return match_mapping_type === undefined || isOfType(match_mapping_type, value)
}

function matchesGlob(glob: string, name: string): boolean {
  return matchesWildcard(parseWildcard(glob), name)
}

/** `*` stays within one level. `**` stands for any number of levels, also none. */
function matchesPath(glob: string, path: readonly string[]): boolean {
  const globs = glob.split('.')
  // Computes row by row whether the first i globs match the first j names. The work is at most
  // their product.
  let reached = path.map(() => false)
  reached.unshift(true)
  for (const one of globs) {
    const next: boolean[] = [one === '**' && reached[0] === true]
    path.forEach((name, index) => {
      const isCrossed = one === '**' && (reached[index + 1] === true || next[index] === true)
      const isTaken = one !== '**' && reached[index] === true && matchesGlob(one, name)
      next.push(isCrossed || isTaken)
    })
    reached = next
  }
  return reached[path.length] === true
}

type MappingType = NonNullable<DynamicTemplate['match_mapping_type']>

/** A timestamp is a date and a string. The first template for either type decides. */
function isOfType(type: MappingType, value: JsonValue): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string'
    case 'number':
      return typeof value === 'number' || isRawNumber(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'date':
      return typeof value === 'string' && parseRfc3339Ms(value) !== undefined
    case 'object':
      return isJsonObject(value)
    default:
      return unreachable(type)
  }
}
