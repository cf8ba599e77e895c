// The plain text of HTML, for models: the text that an index of words takes of a page, without its idle white space.

import { readHtmlText, type HtmlTextSink } from '../../lib/html/read-html-text.ts'
import type { Sliced } from '../../lib/sliced.ts'

/** Text is joined in blocks of at least BLOCK_LENGTH UTF-16 units. */
const BLOCK_LENGTH = 16_384
/** Cells of a row stand in one line. */
const CELLS: ReadonlySet<string> = new Set(['td', 'th'])
const SPACES = /[ \t\n\r\f]+/g
/** White space that is more than one space. */
const WIDE_SPACE = /[\t\n\r\f]| {2}/

/** Counts what is read. True means that the caller must yield; it throws to end the work. */
export interface TextMeter {
  spendOnText(characters: number): boolean
}

/**
 * The text of an HTML page or fragment: without tags, comments, scripts and styles, with entities
 * decoded, runs of white space as one space, and a line for each block element that has text.
 */
export function* scrubHtml(html: string, meter: TextMeter): Sliced<string> {
  if (meter.spendOnText(html.length)) yield
  const text = new PlainLines()
  yield* readHtmlText(html, text)
  return text.finish()
}

class PlainLines implements HtmlTextSink {
  readonly #blocks: string[] = []
  #block = ''
  #gap: '' | ' ' | '\n' = ''
  #isEmpty = true

  append(source: string): void {
    const text = WIDE_SPACE.test(source) ? source.replaceAll(SPACES, ' ') : source
    const begins = text.startsWith(' ') ? 1 : 0
    const ends = text.length > begins && text.endsWith(' ') ? 1 : 0
    if (begins === 1 && this.#gap === '') this.#gap = ' '
    if (text.length === begins) return
    if (!this.#isEmpty) this.#block += this.#gap
    this.#isEmpty = false
    this.#block += text.slice(begins, text.length - ends)
    this.#gap = ends === 1 ? ' ' : ''
    if (this.#block.length >= BLOCK_LENGTH) this.#endBlock()
  }

  endLine(element: string): void {
    if (!CELLS.has(element)) this.#gap = '\n'
    else if (this.#gap === '') this.#gap = ' '
  }

  finish(): string {
    this.#endBlock()
    return this.#blocks.join('')
  }

  /**
   * Reading a character makes V8 join the block's parts now. Otherwise it would join all of them at the
   * end.
   */
  #endBlock(): void {
    if (this.#block.charCodeAt(0) >= 0) this.#blocks.push(this.#block)
    this.#block = ''
  }
}
