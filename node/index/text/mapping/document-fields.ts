// The index fields of one document while its values are collected.

import { orderedTextOf } from '../../../document/decimal.ts'
import { EXACT_SUFFIX, WORDLESS_SUFFIX } from './field-names.ts'
import type { TermTable } from '../encoding/term-table.ts'
import { TokenList } from './token-list.ts'
import type { NumberedTokens } from '../analysis/word-memo.ts'
import type { IndexableField } from '../indexable-document.ts'
import type { GeoPoint } from '../../../geo/geo-point.ts'

const FIELDS_PER_DOCUMENT_MAX = 10_000
const VALUES_PER_DOCUMENT_MAX = 100_000
/** The gap between two values of one field, so that no phrase matches across them. */
export const VALUE_POSITION_GAP = 100

interface TextField {
  readonly kind: 'text'
  readonly name: string
  readonly tokens: TokenList
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

/** Collects the fields of one document. Every `add` answers false if a limit is reached. */
export class DocumentFields {
  readonly #fields = new Map<string, OpenField>()
  readonly #terms: TermTable
  #values = 0

  /** The tokens of texts have the numbers of `terms`. */
  constructor(terms: TermTable) {
    this.#terms = terms
  }

  /**
   * Opens a field for the tokens of one value, in their order. Answers undefined if a limit is reached.
   * `tokensExpected` is about how many come.
   */
  openText(name: string, tokensExpected = 0): NumberedTokens | undefined {
    const field = this.#open(name, () => ({
      kind: 'text',
      name,
      tokens: new TokenList(this.#terms, tokensExpected),
    }))
    if (field?.kind !== 'text') return undefined
    const { lastPosition } = field.tokens
    if (lastPosition === undefined) return field.tokens
    return new LaterValue(field.tokens, lastPosition + VALUE_POSITION_GAP)
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
      if (field.kind === 'text') {
        const { length } = field.tokens
        fields.push({ ...field, length })
        if (length === 0) fields.push(wordless(field.name))
        continue
      }
      fields.push(field)
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

/** The tokens of a value behind others of its field. */
class LaterValue implements NumberedTokens {
  readonly #tokens: TokenList
  readonly #shift: number

  constructor(tokens: TokenList, shift: number) {
    this.#tokens = tokens
    this.#shift = shift
  }

  push(term: number, position: number): void {
    this.#tokens.push(term, position + this.#shift)
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
