// The text of an HTML page with the map from its offsets to the source, for highlights.

import { readHtmlText, type HtmlTextSink } from '../../../../lib/html/read-html-text.ts'
import { runAtOnce, type Sliced } from '../../../../lib/sliced.ts'

/** Text is joined in blocks of at least BLOCK_LENGTH UTF-16 units. */
const BLOCK_LENGTH = 16_384

/** The text of a page, and the map from its offsets to the source. */
export interface PlainText {
  readonly text: string
  /**
   * The sources of the text's pieces, ascending. Each piece has three numbers: its offset in the
   * text, its offset in the source, and the length of its source if it is one entity, else 0. In a
   * piece without an entity, both offsets advance together.
   */
  readonly pieces: readonly number[]
}

/** The number of numbers in a piece. */
export const PIECE_WIDTH = 3

export function stripHtml(html: string): PlainText {
  return runAtOnce(stripHtmlInSteps(html))
}

export function* stripHtmlInSteps(html: string): Sliced<PlainText> {
  const text = new MappedText()
  yield* readHtmlText(html, text)
  return text.finish()
}

class MappedText implements HtmlTextSink {
  readonly #blocks: string[] = []
  readonly #pieces: number[] = []
  #block = ''
  #length = 0

  append(text: string, sourceAt: number, entityLength: number): void {
    this.#pieces.push(this.#length, sourceAt, entityLength)
    this.#length += text.length
    this.#block += text
    if (this.#block.length >= BLOCK_LENGTH) this.#endBlock()
  }

  endLine(_element: string, sourceAt: number): void {
    this.append('\n', sourceAt, 0)
  }

  finish(): PlainText {
    this.#endBlock()
    return { text: this.#blocks.join(''), pieces: this.#pieces }
  }

  /**
   * Reading a character makes V8 join the block's parts now. Otherwise it would join all of them at
   * the end.
   */
  #endBlock(): void {
    if (this.#block.charCodeAt(0) >= 0) this.#blocks.push(this.#block)
    this.#block = ''
  }
}
