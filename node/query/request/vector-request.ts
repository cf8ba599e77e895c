// The part of a query that is about vectors: where they come from, and how indexes of vectors are searched.

import { DIMENSION_MAX } from '../../embedding/settings.ts'
import { SPARSE_TERMS_MAX } from '../../embedding/sparse-rules.ts'
import { parseVector, type WrittenVector } from '../../embedding/vector-forms.ts'
import { KEY_BYTES_MAX } from '../../document/document-limits.ts'
import { numberOf } from '../../document/exact-json.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { checkMembers, optionalTextOf, parseNumber, textOf } from '../language/query-clause.ts'
import { refuse, TEMPLATE_LENGTH_MAX } from '../query-limits.ts'
import type { JsonObject, JsonValue } from '../../document/exact-json.ts'
import type { Clause } from '../language/query-clause.ts'

/** What is near to be found: a text that each index embeds, or the vectors of a stored document. */
export type SoughtMeaning =
  | { readonly kind: 'text'; readonly text: string; readonly template: string | undefined }
  | { readonly kind: 'document'; readonly key: Buffer }

/** At least `sought` or one of `embeddings` is there. */
export interface VectorRequest {
  readonly sought: SoughtMeaning | undefined
  /** By index, a vector that the client has computed. It comes before what is sought. */
  readonly embeddings: ReadonlyMap<string, WrittenVector>
  /** From 0, the fastest, to 1, the most thorough. */
  readonly effort: number
  /** How many candidates are compared exactly for each hit wanted; undefined: as many as the effort says. */
  readonly oversampling: number | undefined
  /** Hits are at this distance or nearer. */
  readonly distanceUnder: number | undefined
  /** Hits are at this distance or farther. */
  readonly distanceOver: number | undefined
}

const EFFORT_DEFAULT = 0.5
const OVERSAMPLING_MAX = 100
/** A table has no more indexes. */
const EMBEDDINGS_MAX = 16
/** Four characters of base64 stand for three bytes. */
const BASE64_BYTES = 3 / 4
const NUMBER_BYTES = 4
/** A form of lists has two of them; one of terms and weights has more members. */
const LIST_MEMBERS_MAX = 4
const SOURCES = 'semantic_search, embeddings or similar_to'
const OPTIONS = ['search_effort', 'oversampling', 'distance_under', 'distance_over']

/** Undefined for a query without vectors. */
export function parseVectors(body: Clause): VectorRequest | undefined {
  const sought = parseSought(body)
  const embeddings = parseEmbeddings(body.members)
  if (sought === undefined && embeddings.size === 0) {
    const option = OPTIONS.find((name) => Object.hasOwn(body.members, name))
    return option === undefined ? undefined : refuse(option, `needs ${SOURCES}; leave it out`)
  }
  const distanceUnder = distanceOf(body.members, 'distance_under')
  const distanceOver = distanceOf(body.members, 'distance_over')
  if (distanceUnder !== undefined && distanceOver !== undefined && distanceOver > distanceUnder) {
    refuse('distance_over', 'is above distance_under, so that no hit can be between them')
  }
  const effort = parseEffort(body.members)
  const oversampling = parseOversampling(body.members)
  return { sought, embeddings, effort, oversampling, distanceUnder, distanceOver }
}

function parseSought(body: Clause): SoughtMeaning | undefined {
  const { members } = body
  const text = optionalTextOf(body, 'semantic_search')
  const template = optionalTextOf(body, 'embedding_template', TEMPLATE_LENGTH_MAX)
  const document = memberOf(members, 'similar_to')
  if (text === undefined && template !== undefined) {
    refuse('embedding_template', 'needs semantic_search, the text that it is filled with')
  }
  if (document === undefined) {
    if (text?.trim() === '') refuse('semantic_search', 'must not be empty')
    return text === undefined ? undefined : { kind: 'text', text, template }
  }
  if (text !== undefined) {
    refuse('similar_to', 'cannot stand beside semantic_search; leave one of them out')
  }
  if (!isJsonObject(document)) return refuse('similar_to', 'must be an object: {"key"}')
  const clause: Clause = { ...body, members: document, where: 'similar_to' }
  checkMembers(clause, ['key'])
  const key = Buffer.from(textOf(clause, 'key', KEY_BYTES_MAX))
  if (key.length > 0 && key.length <= KEY_BYTES_MAX) return { kind: 'document', key }
  return refuse('similar_to.key', `must have 1 to ${KEY_BYTES_MAX} bytes, as keys do`)
}

function parseEmbeddings(members: JsonObject): ReadonlyMap<string, WrittenVector> {
  const vectors = memberOf(members, 'embeddings')
  if (vectors === undefined) return new Map()
  if (!isJsonObject(vectors)) {
    return refuse('embeddings', 'must be an object: by the name of an index, a vector')
  }
  const entries = Object.entries(vectors)
  if (entries.length === 0) refuse('embeddings', 'must have a vector for at least one index')
  if (entries.length > EMBEDDINGS_MAX) {
    refuse('embeddings', `may have vectors for at most ${EMBEDDINGS_MAX} indexes`)
  }
  return new Map(
    entries.map(([name, value]) => {
      const where = `embeddings.${name.slice(0, 64)}`
      return [name, parseSized(value, where)] as const
    }),
  )
}

/** A vector of a size that any index could have, so that reading it takes little time. */
function parseSized(value: JsonValue, where: string): WrittenVector {
  if (isJsonObject(value)) checkTerms(value, where)
  else if (sizeOf(value) > DIMENSION_MAX) refuse(where, `may have at most ${DIMENSION_MAX} numbers`)
  const vector = parseVector(value, where)
  const count = vector.kind === 'dense' ? vector.vector.length : vector.terms.length
  return count > 0 ? vector : refuse(where, 'must have at least one number')
}

/** Checks how many terms a sparse vector has, as members or in lists. */
function checkTerms(form: JsonObject, where: string): void {
  const names = Object.keys(form)
  const lists = names.length <= LIST_MEMBERS_MAX ? names.map((name) => sizeOf(form[name])) : []
  const count = Math.max(names.length, ...lists)
  if (count <= SPARSE_TERMS_MAX) return
  refuse(where, `has ${count} terms, and a sparse vector may have ${SPARSE_TERMS_MAX}`)
}

/** How many numbers there may be in a list. */
function sizeOf(list: JsonValue | undefined): number {
  if (typeof list === 'string') return Math.floor((list.length * BASE64_BYTES) / NUMBER_BYTES)
  return Array.isArray(list) ? list.length : 1
}

function parseEffort(members: JsonObject): number {
  const value = memberOf(members, 'search_effort')
  if (value === undefined) return EFFORT_DEFAULT
  const effort = numberOf(value) ?? NaN
  return effort >= 0 && effort <= 1 ? effort : refuse('search_effort', 'must be from 0 to 1')
}

function parseOversampling(members: JsonObject): number | undefined {
  const value = memberOf(members, 'oversampling')
  if (value === undefined) return undefined
  const factor = numberOf(value) ?? NaN
  if (factor >= 1 && factor <= OVERSAMPLING_MAX) return factor
  return refuse('oversampling', `must be from 1 to ${OVERSAMPLING_MAX}`)
}

function distanceOf(members: JsonObject, name: string): number | undefined {
  const value = memberOf(members, name)
  return value === undefined ? undefined : parseNumber(value, name)
}
