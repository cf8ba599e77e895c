// What a document says to a reader, as plain text: names first, a line for each text. Numbers, dates, keys, addresses and
// code tell a model of meanings nothing, and what they add to a vector hides the rest.
//
//   {"id": "b-0017", "price": 9, "body": "<p>Tide tables</p>", "tags": ["sea"], "title": "Tides"}
//
//   Tides
//   Tide tables
//   sea

import type { Sliced } from '../../lib/sliced.ts'
import type { JsonArray, JsonObject } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, memberOf, namesOf } from '../document/json-object.ts'
import { encodeToon, TOON_DEFAULT } from './encode-toon.ts'
import { BoundedText } from './render-budget.ts'
import type { RenderBudget } from './render-budget.ts'
import { scrubHtml } from './scrub-html.ts'
import type { TemplateValue } from './template.ts'
import { checkDepth, scalarText } from './value-text.ts'

/** Members that name what the document is about, whatever is in them: "1984" is a title. */
const NAMES: ReadonlySet<string> = new Set([
  'headline',
  'heading',
  'label',
  'name',
  'subject',
  'title',
])
/** A text is judged by its first thousand characters. */
const JUDGED_LENGTH = 1000
/** The share of letters, and of white space, from which a text is made of words. Digits beside words count for nothing. */
const LETTERS_MIN = 0.85
/** Scripts without white space have marks of their own between words. */
const LETTER = /[\p{L}\p{M}\s]|(?!\p{ASCII})\p{P}/gu
/** Without white space: an address or data behind a scheme, a path, a file, a host, the name of something in a program. */
const CODE = /^[a-z][a-z0-9+.-]*:|[/\\_@]|\.[a-z0-9]/i
/** A closing tag, or one of the elements that have none. */
const HTML = /<\/[a-z][a-z0-9]*\s*>|<(?:br|hr|img|li|p)\b[^<>]*>|<!--|<!doctype\b/i

/** The texts of a value. One without any is written whole: numbers alone still say something. */
export function* documentTexts(value: TemplateValue, budget: RenderBudget): Sliced<string> {
  const reader = new TextReader(budget)
  yield* reader.read(value, { depth: 0, isName: false })
  const texts = reader.take()
  if (texts !== '' || value === undefined || value === null) return texts
  return yield* encodeToon(value, TOON_DEFAULT, budget)
}

interface TextPlace {
  readonly depth: number
  /** Whether the value stands in a member of NAMES. */
  readonly isName: boolean
}

class TextReader {
  readonly #budget: RenderBudget
  readonly #out: BoundedText
  #isEmpty = true

  constructor(budget: RenderBudget) {
    this.#budget = budget
    this.#out = new BoundedText(budget, 'what texts makes')
  }

  take(): string {
    return this.#out.take()
  }

  *read(value: TemplateValue, place: TextPlace): Sliced<void> {
    if (this.#budget.spend()) yield
    if (isJsonArray(value)) return yield* this.#readItems(value, place)
    if (isJsonObject(value)) return yield* this.#readMembers(value, place.depth)
    const text = scalarText(value) ?? ''
    if (typeof value !== 'string' && !place.isName) return undefined
    if (this.#budget.spendOnText(text.length)) yield
    if (!place.isName && !isMadeOfWords(text)) return undefined
    return this.#add(HTML.test(text) ? yield* scrubHtml(text, this.#budget) : text)
  }

  *#readItems(list: JsonArray, { depth, isName }: TextPlace): Sliced<void> {
    checkDepth(depth)
    for (const item of list) yield* this.read(item, { depth: depth + 1, isName })
  }

  *#readMembers(object: JsonObject, depth: number): Sliced<void> {
    checkDepth(depth)
    for (const isName of [true, false]) {
      for (const name of namesOf(object)) {
        if (this.#budget.spend()) yield
        if (NAMES.has(name.toLowerCase()) !== isName) continue
        yield* this.read(memberOf(object, name), { depth: depth + 1, isName })
      }
    }
  }

  #add(text: string): void {
    const line = text.trim()
    if (line === '') return
    if (!this.#isEmpty) this.#out.add('\n')
    this.#isEmpty = false
    this.#out.add(line)
  }
}

function isMadeOfWords(text: string): boolean {
  const judged = text.trim().slice(0, JUDGED_LENGTH)
  const plain = HTML.test(judged) ? judged.replaceAll(/<[^<>]*>/g, '') : judged
  const isOneWord = !/\s/.test(plain)
  if (isOneWord && CODE.test(plain)) return false
  // "Boeing 747" is made of words, and "a1b2c3" is not.
  const judgedLength = isOneWord ? plain.length : plain.replaceAll(/\d/g, '').length
  const letters = plain.match(LETTER) ?? []
  return letters.length > 0 && letters.join('').length >= LETTERS_MIN * judgedLength
}
