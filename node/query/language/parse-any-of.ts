// Parses lists of values: `{"terms": {"field": "sku", "values": ["a1", "b2"]}}`.

import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { QUERY_VALUES_MAX, refuse, takeValues } from '../query-limits.ts'
import type { Query } from '../query-tree.ts'
import { parseExactTerm, parsePhraseTerms } from './parse-text-queries.ts'
import { boostOf, checkMembers, fieldOf, listOf, type Clause } from './query-clause.ts'

/** A list is terms in a row; an object is a field and values of which one is enough. */
export function parseTerms(clause: Clause): Query {
  const terms = memberOf(clause.members, 'terms')
  if (terms === undefined || !isJsonObject(terms)) return parsePhraseTerms(clause)
  const alone = ['field', 'slop'].find((name) => memberOf(clause.members, name) !== undefined)
  if (alone !== undefined) {
    refuse(`${clause.where}.${alone}`, 'belongs to a list of terms; write the field into "terms"')
  }
  const inner = { ...clause, members: terms, where: `${clause.where}.terms` }
  checkMembers(inner, ['field', 'values'])
  return { kind: 'any-of', field: fieldOf(inner), values: valuesOf(inner), boost: boostOf(clause) }
}

/** The member `values`: at least one text, number or boolean. */
export function valuesOf(clause: Clause): readonly string[] {
  const where = `${clause.where}.values`
  const list = listOf(clause, 'values', { what: 'value', max: QUERY_VALUES_MAX })
  const values = list.map((value, index) => parseExactTerm(value, `${where}[${index}]`))
  takeValues(clause.budget, values, where)
  return values
}
