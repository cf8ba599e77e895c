// The plain text of HTML. Only the tokens of HTML are looked at, and no tree is built: open tags that are
// never closed, or thousands within each other, cost what their characters cost.

import { Tokenizer } from 'htmlparser2'
import type { TokenizerCallbacks } from 'htmlparser2'
import type { Sliced } from '../../lib/sliced.ts'

/** Read in a step, in UTF-16 units. */
const CHUNK_LENGTH = 8 * 1024
const wordsOf = (text: string): ReadonlySet<string> => new Set(text.split(' '))
/** Elements whose content is not text for readers. */
const DROPPED = wordsOf('script style iframe noembed noframes')
/** A reader sees their text in the line of the text around them. All others end a line. */
const INLINE = wordsOf(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark output q rp rt ' +
    'ruby s samp small span strike strong sub sup time tt u var wbr',
)
const CELLS = wordsOf('td th')
/** The names of elements are shorter, and a longer name is not copied. */
const NAME_LENGTH_MAX = 16
const SPACES = /[ \t\n\r\f]+/g

/** Counts what is read. True means that the caller must yield; it throws to end the work. */
export interface TextMeter {
  spendOnText(characters: number): boolean
}

/**
 * The text of an HTML page or fragment: without tags, comments, scripts and styles, with entities
 * decoded, runs of white space as one space, and a line for each block element that has text.
 */
export function* scrubHtml(html: string, meter: TextMeter): Sliced<string> {
  const text = new PlainText(html)
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, text)
  for (let from = 0; from < html.length; from += CHUNK_LENGTH) {
    const chunk = html.slice(from, from + CHUNK_LENGTH)
    if (meter.spendOnText(chunk.length)) yield
    tokenizer.write(chunk)
    text.settle()
    yield
  }
  tokenizer.end()
  return text.finish()
}

/** Hears of tokens by their offsets in the page. */
class PlainText implements TokenizerCallbacks {
  readonly #html: string
  readonly #blocks: string[] = []
  #block = ''
  #gap: '' | ' ' | '\n' = ''
  #isEmpty = true
  #dropped: string | undefined

  constructor(html: string) {
    this.#html = html
  }

  ontext(start: number, end: number): void {
    if (this.#dropped === undefined) this.#add(this.#html.slice(start, end))
  }

  ontextentity(codePoint: number): void {
    if (this.#dropped === undefined) this.#add(String.fromCodePoint(codePoint))
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.ontext(start, end - endOffset)
  }

  onopentagname(start: number, end: number): void {
    const name = this.#nameAt(start, end)
    this.#breakAt(name)
    if (this.#dropped === undefined && DROPPED.has(name)) this.#dropped = name
  }

  onclosetag(start: number, end: number): void {
    const name = this.#nameAt(start, end)
    if (name === this.#dropped) this.#dropped = undefined
    this.#breakAt(name)
  }

  onattribdata(): void {}
  onattribend(): void {}
  onattribentity(): void {}
  onattribname(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onopentagend(): void {}
  onprocessinginstruction(): void {}
  onselfclosingtag(): void {}

  /**
   * Reading a character makes V8 join the block's parts now. Otherwise it would join all of them at the
   * end.
   */
  settle(): void {
    if (this.#block.charCodeAt(0) >= 0) this.#blocks.push(this.#block)
    this.#block = ''
  }

  finish(): string {
    this.settle()
    return this.#blocks.join('')
  }

  #nameAt(start: number, end: number): string {
    return end - start > NAME_LENGTH_MAX ? '' : this.#html.slice(start, end).toLowerCase()
  }

  #breakAt(name: string): void {
    if (this.#dropped !== undefined || INLINE.has(name)) return
    if (!CELLS.has(name)) this.#gap = '\n'
    else if (this.#gap === '') this.#gap = ' '
  }

  #add(source: string): void {
    const text = source.replaceAll(SPACES, ' ')
    if (text === '') return
    const begins = text.startsWith(' ') ? 1 : 0
    const ends = text.length > begins && text.endsWith(' ') ? 1 : 0
    if (begins === 1 && this.#gap === '') this.#gap = ' '
    if (text.length === begins) return
    if (!this.#isEmpty) this.#block += this.#gap
    this.#isEmpty = false
    this.#block += text.slice(begins, text.length - ends)
    this.#gap = ends === 1 ? ' ' : ''
  }
}
