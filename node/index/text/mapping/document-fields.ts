// The index fields of one document while its values are collected.

import { orderedTextOf } from '../../../document/decimal.ts'
import { EXACT_SUFFIX, WORDLESS_SUFFIX } from './field-names.ts'
import type { IndexableField, IndexableToken, TokenSequence } from '../indexable-document.ts'
import type { GeoPoint } from '../../../geo/geo-point.ts'

const FIELDS_PER_DOCUMENT_MAX = 10_000
const VALUES_PER_DOCUMENT_MAX = 100_000
/** The gap between two values of one field, so that no phrase matches across them. */
export const VALUE_POSITION_GAP = 100
const CHUNK_LENGTH = 16_384

interface TextField {
  readonly kind: 'text'
  readonly name: string
  readonly tokens: TokenList
  length: number
}
interface NumberField {
  readonly kind: 'number'
  readonly name: string
  readonly values: number[]
  /** By the place among the values: the decimals that no double means. Undefined: there are none. */
  decimals: Map<number, string> | undefined
}
type OpenField =
  | TextField
  | { readonly kind: 'keyword'; readonly name: string; readonly values: string[] }
  | NumberField
  | { readonly kind: 'point'; readonly name: string; readonly values: GeoPoint[] }

/** Takes the tokens of one value in their order. */
export type TokenSink = (token: IndexableToken) => void

/** Collects the fields of one document. Every `add` answers false if a limit is reached. */
export class DocumentFields {
  readonly #fields = new Map<string, OpenField>()
  #values = 0

  /** Opens a field for the tokens of one value. Answers undefined if a limit is reached. */
  openText(name: string): TokenSink | undefined {
    const field = this.#open(name, () => ({
      kind: 'text',
      name,
      tokens: new TokenList(),
      length: 0,
    }))
    if (field?.kind !== 'text') return undefined
    const { tokens } = field
    const { last } = tokens
    const shift = last === undefined ? 0 : last.position + VALUE_POSITION_GAP
    return (token) => {
      const { term, position } = token
      field.length = tokens.push(shift === 0 ? token : { term, position: position + shift })
    }
  }

  addKeyword(name: string, value: string): boolean {
    const field = this.#open(name, () => ({ kind: 'keyword', name, values: [] }))
    if (field?.kind !== 'keyword') return false
    field.values.push(value)
    return true
  }

  /** `decimal` is the value with all its digits if no double means it. */
  addNumber(name: string, value: number, decimal?: string): boolean {
    const field = this.#open(name, () => ({
      kind: 'number',
      name,
      values: [],
      decimals: undefined,
    }))
    if (field?.kind !== 'number') return false
    if (decimal !== undefined) {
      field.decimals ??= new Map()
      field.decimals.set(field.values.length, decimal)
    }
    field.values.push(value)
    return true
  }

  addPoint(name: string, value: GeoPoint): boolean {
    const field = this.#open(name, () => ({ kind: 'point', name, values: [] }))
    if (field?.kind !== 'point') return false
    field.values.push(value)
    return true
  }

  finish(): readonly IndexableField[] {
    const fields: IndexableField[] = []
    for (const field of this.#fields.values()) {
      fields.push(field)
      if (field.kind === 'text' && field.length === 0) fields.push(wordless(field.name))
      if (field.kind === 'number' && field.decimals !== undefined) {
        fields.push(exactField(field, field.decimals))
      }
    }
    return fields
  }

  #open(name: string, build: () => OpenField): OpenField | undefined {
    if (this.#values >= VALUES_PER_DOCUMENT_MAX) return undefined
    const known = this.#fields.get(name)
    if (known === undefined && this.#fields.size >= FIELDS_PER_DOCUMENT_MAX) return undefined
    const field = known ?? build()
    if (known === undefined) this.#fields.set(name, field)
    this.#values += 1
    return field
  }
}

/** Tells a field whose values have no words from one without values, which have no terms alike. */
function wordless(name: string): IndexableField {
  return { kind: 'keyword', name: name + WORDLESS_SUFFIX, values: ['true'] }
}

/** All numbers of the field as terms, because a double cannot carry one of them (exact-numbers.ts). */
function exactField(
  { name, values }: NumberField,
  decimals: ReadonlyMap<number, string>,
): IndexableField {
  const terms = values.map((value, at) => orderedTextOf(decimals.get(at) ?? String(value)))
  return { kind: 'keyword', name: name + EXACT_SUFFIX, values: terms }
}

/**
 * A list of tokens in chunks. A document may have millions of tokens. A plain array of so many is
 * copied as a whole when it grows, which takes longer than a step may.
 */
export class TokenList implements TokenSequence {
  readonly #full: IndexableToken[][] = []
  #open: IndexableToken[] = []

  get length(): number {
    return this.#full.length * CHUNK_LENGTH + this.#open.length
  }

  get last(): IndexableToken | undefined {
    return this.#open.at(-1) ?? this.#full.at(-1)?.at(-1)
  }

  /** Adds a token. Answers the new length. */
  push(token: IndexableToken): number {
    if (this.#open.length === CHUNK_LENGTH) {
      this.#full.push(this.#open)
      this.#open = []
    }
    this.#open.push(token)
    return this.length
  }

  slice(from: number, to: number): readonly IndexableToken[] {
    const first = Math.floor(from / CHUNK_LENGTH)
    const start = first * CHUNK_LENGTH
    const found = (this.#full[first] ?? this.#open).slice(from - start, to - start)
    const next = start + CHUNK_LENGTH
    return next >= Math.min(to, this.length) ? found : [...found, ...this.slice(next, to)]
  }
}
