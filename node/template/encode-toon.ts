// Writes values in TOON, the token-oriented object notation (https://toonformat.dev), in the form of its
// version 1, whose headers may carry the length marker `#`:
//
//   tags[#2]: red,blue                 a list of scalars
//   books[#2]{id,title}:               a list of objects with the same scalar members: a table
//     1,Emma
//     2,Ulysses
//   mixed[#2]:                         any other list
//     - 1
//     - a: 2

import type { Sliced } from '../../lib/sliced.ts'
import type { JsonArray, JsonObject, JsonValue } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf, namesOf } from '../document/json-object.ts'
import { BoundedText } from './render-budget.ts'
import type { RenderBudget } from './render-budget.ts'
import { renderError } from './template-error.ts'
import type { TemplateValue } from './template.ts'
import { checkDepth, scalarText } from './value-text.ts'

/** How a value is written. */
export interface ToonOptions {
  /** `#` before the length of a list. */
  readonly lengthMarker: boolean
  /** The spaces of one level, 1 to 16. */
  readonly indent: number
  readonly delimiter: ToonDelimiter
}

export const TOON_DEFAULT: ToonOptions = { lengthMarker: true, indent: 2, delimiter: ',' }

const DELIMITERS = [',', '\t', '|'] as const
type ToonDelimiter = (typeof DELIMITERS)[number]
const INDENT_MAX = 16
const PLAIN_NAME = /^[A-Za-z_][\w.]*$/
const NUMBER_LIKE = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const QUOTED_CHARACTERS = /[:"\\[\]{}\u0000-\u001f]/
/** Longer texts are numbers to nobody. */
const NUMBER_LENGTH_MAX = 400

/** The options as a template gives them. Throws INVALID_ARGUMENT that names a bad one. */
export function parseToonOptions(given: {
  readonly lengthMarker: TemplateValue
  readonly indent: TemplateValue
  readonly delimiter: TemplateValue
}): ToonOptions {
  const { lengthMarker = true, indent = 2, delimiter: wanted = ',' } = given
  if (typeof lengthMarker !== 'boolean') {
    throw renderError('encodeToon: lengthMarker must be true or false')
  }
  if (
    typeof indent !== 'number' ||
    !Number.isInteger(indent) ||
    indent < 1 ||
    indent > INDENT_MAX
  ) {
    throw renderError(`encodeToon: indent must be an integer from 1 to ${INDENT_MAX}`)
  }
  // A template's text has no escapes, so a tab may be written as \t.
  const delimiter = DELIMITERS.find((known) => known === (wanted === '\\t' ? '\t' : wanted))
  if (delimiter === undefined) throw renderError('encodeToon: delimiter must be ",", "|" or a tab')
  return { lengthMarker, indent, delimiter }
}

/** The text of a value. An absent value is written as null. */
export function* encodeToon(
  value: TemplateValue,
  options: ToonOptions,
  budget: RenderBudget,
): Sliced<string> {
  const out = new BoundedText(budget, 'what encodeToon makes')
  const encoder = new ToonEncoder(options, { budget, out })
  yield* encoder.writeRoot(value ?? null)
  return out.take()
}

/** Where something is written. */
interface LinePlace {
  readonly depth: number
  /** The line begins with the hyphen of a list's item, which stands a level further left. */
  readonly isBehindHyphen: boolean
}

class ToonEncoder {
  readonly #options: ToonOptions
  readonly #budget: RenderBudget
  readonly #out: BoundedText
  #isFirstLine = true

  constructor(
    options: ToonOptions,
    { budget, out }: { readonly budget: RenderBudget; readonly out: BoundedText },
  ) {
    this.#options = options
    this.#budget = budget
    this.#out = out
  }

  *writeRoot(value: JsonValue): Sliced<void> {
    const place = { depth: 0, isBehindHyphen: false }
    if (isJsonArray(value)) yield* this.#writeList('', value, place)
    else if (isJsonObject(value)) yield* this.#writeMembers(value, place)
    else yield* this.#writeScalar(value)
  }

  /** The first member stands behind the hyphen, if there is one. */
  *#writeMembers(object: JsonObject, { depth, isBehindHyphen }: LinePlace): Sliced<void> {
    checkDepth(depth)
    let isHyphenTaken = !isBehindHyphen
    for (const name of namesOf(object)) {
      if (this.#budget.spend()) yield
      const place = { depth, isBehindHyphen: !isHyphenTaken }
      isHyphenTaken = true
      yield* this.#writeMember(name, memberOf(object, name) ?? null, place)
    }
  }

  *#writeMember(name: string, value: JsonValue, place: LinePlace): Sliced<void> {
    const key = yield* this.#name(name)
    if (isJsonArray(value)) {
      yield* this.#writeList(key, value, place)
      return
    }
    this.#beginLine(place)
    this.#out.add(`${key}:`)
    if (isJsonObject(value)) {
      yield* this.#writeMembers(value, { depth: place.depth + 1, isBehindHyphen: false })
      return
    }
    this.#out.add(' ')
    yield* this.#writeScalar(value)
  }

  *#writeList(key: string, list: JsonArray, place: LinePlace): Sliced<void> {
    checkDepth(place.depth)
    this.#beginLine(place)
    this.#out.add(key)
    const { delimiter, lengthMarker } = this.#options
    const mark = delimiter === ',' ? '' : delimiter
    this.#out.add(`[${lengthMarker ? '#' : ''}${list.length}${mark}]`)
    if (yield* this.#isEvery(list, isScalar)) {
      yield* this.#writeScalars(list)
      return
    }
    // A list that is an item itself has no key, and only keyed lists may be tables.
    const isItem = key === '' && place.isBehindHyphen
    const columns = isItem ? undefined : yield* this.#columnsOf(list)
    const depth = isItem ? place.depth : place.depth + 1
    if (columns !== undefined) {
      yield* this.#writeTable(list, columns, depth)
      return
    }
    this.#out.add(':')
    for (const item of list) yield* this.#writeItem(item, depth)
  }

  *#isEvery(list: JsonArray, holds: (value: JsonValue) => boolean): Sliced<boolean> {
    for (const value of list) {
      if (this.#budget.spend()) yield
      if (!holds(value)) return false
    }
    return true
  }

  *#writeScalars(list: JsonArray): Sliced<void> {
    this.#out.add(list.length === 0 ? ':' : ': ')
    for (const [at, value] of list.entries()) {
      if (at > 0) this.#out.add(this.#options.delimiter)
      yield* this.#writeScalar(value)
    }
  }

  /** The names of the members that all objects of the list have, if these are all and are scalars. */
  *#columnsOf(list: JsonArray): Sliced<readonly string[] | undefined> {
    const [first] = list
    const columns = isJsonObject(first) ? namesOf(first) : []
    if (columns.length === 0) return undefined
    for (const row of list) {
      if (this.#budget.spend()) yield
      if (!isJsonObject(row) || namesOf(row).length !== columns.length) return undefined
      for (const column of columns) {
        if (this.#budget.spend()) yield
        if (!isScalarMember(row, column)) return undefined
      }
    }
    return columns
  }

  *#writeTable(rows: JsonArray, columns: readonly string[], depth: number): Sliced<void> {
    const { delimiter } = this.#options
    this.#out.add('{')
    for (const [at, column] of columns.entries()) {
      if (at > 0) this.#out.add(delimiter)
      this.#out.add(yield* this.#name(column))
    }
    this.#out.add('}:')
    for (const row of rows) {
      this.#beginLine({ depth, isBehindHyphen: false })
      for (const [at, column] of columns.entries()) {
        if (at > 0) this.#out.add(delimiter)
        yield* this.#writeScalar((isJsonObject(row) ? memberOf(row, column) : null) ?? null)
      }
    }
  }

  *#writeItem(item: JsonValue, hyphenDepth: number): Sliced<void> {
    const place = { depth: hyphenDepth + 1, isBehindHyphen: true }
    if (this.#budget.spend()) yield
    if (isJsonArray(item)) {
      yield* this.#writeList('', item, place)
    } else if (!isJsonObject(item)) {
      this.#beginLine(place)
      yield* this.#writeScalar(item)
    } else if (namesOf(item).length > 0) {
      yield* this.#writeMembers(item, place)
    } else {
      this.#startLine(hyphenDepth)
      this.#out.add('-')
    }
  }

  #beginLine({ depth, isBehindHyphen }: LinePlace): void {
    this.#startLine(isBehindHyphen ? depth - 1 : depth)
    if (isBehindHyphen) this.#out.add('- ')
  }

  #startLine(depth: number): void {
    if (!this.#isFirstLine) this.#out.add('\n')
    this.#isFirstLine = false
    this.#out.add(' '.repeat(depth * this.#options.indent))
  }

  *#name(name: string): Sliced<string> {
    if (this.#budget.spendOnText(name.length)) yield
    return PLAIN_NAME.test(name) ? name : JSON.stringify(name)
  }

  *#writeScalar(value: JsonValue): Sliced<void> {
    if (typeof value !== 'string') {
      if (this.#budget.spend()) yield
      this.#out.add(value === null ? 'null' : (scalarText(value) ?? ''))
      return
    }
    if (this.#budget.spendOnText(value.length)) yield
    const isTooLong = value.length > this.#budget.limits.outputBytesMax
    this.#out.add(isTooLong || isPlain(value, this.#options.delimiter) ? value : quoted(value))
  }
}

function isScalarMember(object: JsonObject, name: string): boolean {
  const member = memberOf(object, name)
  return member !== undefined && isScalar(member)
}

function isScalar(value: JsonValue): boolean {
  return !isJsonArray(value) && !isJsonObject(value)
}

/** Whether a text reads as itself without quotes. */
function isPlain(text: string, delimiter: ToonDelimiter): boolean {
  if (text === '' || /^[ \t#-]|[ \t]$/.test(text)) return false
  if (['true', 'false', 'null'].includes(text)) return false
  if (text.length <= NUMBER_LENGTH_MAX && NUMBER_LIKE.test(text)) return false
  return !QUOTED_CHARACTERS.test(text) && !text.includes(delimiter)
}

/** Control characters other than those of JSON's short escapes become \u00XX, as in JSON. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
