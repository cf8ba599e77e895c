// Parses `{"simple": {"query": "what a person typed", "fields": ["title^3", "about"]}}`.

import { parseFieldPath } from '../../document/field-path.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { QUERY_BOOST_MAX, refuse } from '../query-limits.ts'
import { boostOf, checkMembers, listOf, parseText, textOf, type Clause } from './query-clause.ts'
import type { Query, WeightedField } from '../query-tree.ts'

const FIELDS_MAX = 20
const WEIGHT = /\^(?<weight>[0-9]+(?:\.[0-9]+)?)$/

export function parseSimple(clause: Clause): Query {
  const members = memberOf(clause.members, 'simple')
  const where = `${clause.where}.simple`
  if (!isJsonObject(members)) return refuse(where, 'must be an object: {"query", "fields"}')
  const inner: Clause = { ...clause, members, where }
  checkMembers(inner, ['query', 'fields', 'boost'])
  const fields = Object.hasOwn(members, 'fields')
    ? listOf(inner, 'fields', { what: 'field', max: FIELDS_MAX }).map((field, index) => {
        const place = `${where}.fields[${index}]`
        return parseWeightedField(parseText(field, place), place)
      })
    : undefined
  const boost = boostOf(inner) * boostOf(clause)
  return { kind: 'simple', text: textOf(inner, 'query'), fields, boost }
}

/** Parses `title`, or `title^3` for a field whose matches count three times. */
function parseWeightedField(text: string, where: string): WeightedField {
  const written = WEIGHT.exec(text)?.groups?.['weight']
  const name = written === undefined ? text : text.slice(0, -written.length - 1)
  const boost = written === undefined ? 1 : Number(written)
  if (boost > QUERY_BOOST_MAX) {
    refuse(where, `a field may have at most the weight ${QUERY_BOOST_MAX}`)
  }
  return { name: parseFieldPath(name, where).text, boost }
}
