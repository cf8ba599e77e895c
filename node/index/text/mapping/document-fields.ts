// The index fields of one document while its values are being collected.

import { ALL_FIELD } from './field-names.ts'
import type { IndexableField, IndexableToken } from '../indexable-document.ts'
import type { GeoPoint } from '../../../geo/geo-point.ts'

export const FIELDS_PER_DOCUMENT_MAX = 10_000
export const VALUES_PER_DOCUMENT_MAX = 100_000
/** Between two values of one field, so that no phrase reaches from one into the other. */
export const VALUE_POSITION_GAP = 100

interface TextField {
  readonly kind: 'text'
  readonly name: string
  tokens: IndexableToken[]
  length: number
}
type OpenField =
  | TextField
  | { readonly kind: 'keyword'; readonly name: string; readonly values: string[] }
  | { readonly kind: 'number'; readonly name: string; readonly values: number[] }
  | { readonly kind: 'point'; readonly name: string; readonly values: GeoPoint[] }

/** Every `add` answers whether there was room. */
export class DocumentFields {
  readonly #fields = new Map<string, OpenField>()
  #values = 0

  addText(name: string, tokens: IndexableToken[]): boolean {
    const field = this.#open(name, () => ({ kind: 'text', name, tokens: [], length: 0 }))
    if (field?.kind !== 'text') return false
    append(field, tokens)
    return true
  }

  /** The field that queries without a field name search; its values come from other fields. */
  addToAll(tokens: IndexableToken[]): boolean {
    // Copied, because the field that the tokens come from may go on growing.
    return this.addText(ALL_FIELD, [...tokens])
  }

  addKeyword(name: string, value: string): boolean {
    const field = this.#open(name, () => ({ kind: 'keyword', name, values: [] }))
    if (field?.kind !== 'keyword') return false
    field.values.push(value)
    return true
  }

  addNumber(name: string, value: number): boolean {
    const field = this.#open(name, () => ({ kind: 'number', name, values: [] }))
    if (field?.kind !== 'number') return false
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
    return [...this.#fields.values()]
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

function append(field: TextField, tokens: IndexableToken[]): void {
  const last = field.tokens.at(-1)
  if (last === undefined) {
    field.tokens = tokens
  } else {
    const shift = last.position + VALUE_POSITION_GAP
    for (const { term, position } of tokens) field.tokens.push({ term, position: position + shift })
  }
  field.length = field.tokens.length
}
