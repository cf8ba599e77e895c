// The `reranker` of a query: a model that reads each of the best hits beside the query and scores them anew.

import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { parseFieldPath, type FieldPath } from '../../document/field-path.ts'
import { integerOf, optionalTextOf, textOf } from '../language/query-clause.ts'
import { refuse, TEMPLATE_LENGTH_MAX } from '../query-limits.ts'
import { isRawNumber, type JsonObject, type JsonValue } from '../../document/exact-json.ts'
import type { Clause } from '../language/query-clause.ts'

/** Which model, and where it is: as the client wrote it. The provider alone knows and checks the members. */
export interface RerankerConfig {
  readonly provider: string
  readonly [member: string]: JsonValue
}

/** The text of a hit that the model reads. */
export type RerankedText =
  /** The value of a field. */
  | { readonly kind: 'field'; readonly path: FieldPath }
  /** A template that is filled with the document. */
  | { readonly kind: 'template'; readonly template: string }
  /** The document as the product writes it for models. */
  | { readonly kind: 'rendered' }

/** How the best hits are scored anew. */
export interface RerankerRequest {
  readonly config: RerankerConfig
  readonly text: RerankedText
  /** How many of the best hits are scored; the others are dropped. Undefined: all of the window. */
  readonly topCount: number | undefined
}

/** More texts take any model too long. */
export const RERANKED_MAX = 1000
const NAME_LENGTH_MAX = 1000
const SETTINGS_MAX = 16
const SETTING_LENGTH_MAX = 4096

/** `document_renderer` of the same query fills in where the reranker names no text. */
export function parseReranker(body: Clause): RerankerRequest | undefined {
  const members = memberOf(body.members, 'reranker')
  const renderer = optionalTextOf(body, 'document_renderer', TEMPLATE_LENGTH_MAX)
  if (members === undefined) {
    if (renderer === undefined) return undefined
    return refuse('document_renderer', 'needs a reranker, which reads its text')
  }
  if (!isJsonObject(members)) return refuse('reranker', 'must be an object')
  const clause: Clause = { ...body, members, where: 'reranker' }
  const provider = textOf(clause, 'provider', NAME_LENGTH_MAX)
  if (provider === '') refuse('reranker.provider', 'must not be empty')
  optionalTextOf(clause, 'model', NAME_LENGTH_MAX)
  const { field: _field, template: _template, top_n: _count, ...others } = members
  checkSettings(others)
  return {
    config: { ...others, provider },
    text: parseRerankedText(clause, renderer),
    topCount: integerOf(clause, 'top_n', { min: 1, max: RERANKED_MAX }),
  }
}

/** Whatever they mean to their provider, they are few, short and flat. */
function checkSettings(settings: JsonObject): void {
  const all = Object.entries(settings)
  if (all.length > SETTINGS_MAX) refuse('reranker', `has more than ${SETTINGS_MAX} settings`)
  for (const [name, value] of all) {
    const where = `reranker.${name.slice(0, 128)}`
    const isNested = typeof value === 'object' && value !== null && !isRawNumber(value)
    if (isNested) refuse(where, 'must be a text, a number, true or false')
    if (typeof value === 'string' && value.length > SETTING_LENGTH_MAX) {
      refuse(where, `may have at most ${SETTING_LENGTH_MAX} characters`)
    }
  }
}

function parseRerankedText(clause: Clause, renderer: string | undefined): RerankedText {
  const field = optionalTextOf(clause, 'field')
  const template = optionalTextOf(clause, 'template', TEMPLATE_LENGTH_MAX)
  if (field !== undefined && template !== undefined) {
    refuse('reranker.template', 'cannot stand beside reranker.field; leave one of them out')
  }
  if (renderer !== undefined && (field ?? template) !== undefined) {
    refuse('document_renderer', 'cannot stand beside the field or template of the reranker')
  }
  if (field !== undefined) return { kind: 'field', path: parseFieldPath(field, 'reranker.field') }
  const filled = template ?? renderer
  return filled === undefined ? { kind: 'rendered' } : { kind: 'template', template: filled }
}
