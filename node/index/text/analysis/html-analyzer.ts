// An analyzer for HTML. It runs another analyzer over the text of the page and answers offsets in
// the source.

import { runAtOnce, type Sliced } from '../../../../lib/sliced.ts'
import { buildFromSteps } from './analyzer.ts'
import { PIECE_WIDTH, stripHtmlInSteps } from './html-text.ts'
import type { Analyzer, Emit } from './analyzer.ts'
import type { PlainText } from './html-text.ts'

export function buildHtmlAnalyzer(name: string, inner: Analyzer): Analyzer {
  const normalize = (term: string): string => inner.normalize(term)
  return buildFromSteps({
    name,
    inSteps: (html, emit) => run(inner, html, emit),
    atOnce: (html, emit) => runAtOnce(run(inner, html, emit)),
    words: undefined,
    normalize,
    beginsStopWord: (begun) => inner.beginsStopWord(begun),
  })
}

function* run(inner: Analyzer, html: string, emit: Emit): Sliced<void> {
  const plain = yield* stripHtmlInSteps(html)
  const source = new SourceReader(plain)
  yield* inner.analyzeInSteps(plain.text, (term, position, start, end) =>
    emit(term, position, source.startOf(start), source.endOf(end)),
  )
}

/** Maps ascending offsets in the text of a page to offsets in its source. */
class SourceReader {
  readonly #pieces: readonly number[]
  /** The piece of the last start. The next token may begin in the same piece. */
  #at = 0

  constructor({ pieces }: PlainText) {
    this.#pieces = pieces
  }

  startOf(offset: number): number {
    this.#at = this.#pieceOf(offset)
    const [plainAt, sourceAt, entityLength] = this.#piece(this.#at)
    return entityLength > 0 ? sourceAt : sourceAt + (offset - plainAt)
  }

  /** The end of the token's last character in the source, before any markup that follows it. */
  endOf(offset: number): number {
    const [plainAt, sourceAt, entityLength] = this.#piece(this.#pieceOf(offset - 1))
    return sourceAt + (entityLength > 0 ? entityLength : offset - plainAt)
  }

  #pieceOf(offset: number): number {
    let at = this.#at
    while ((this.#pieces[at + PIECE_WIDTH] ?? Infinity) <= offset) at += PIECE_WIDTH
    return at
  }

  #piece(at: number): readonly [number, number, number] {
    const pieces = this.#pieces
    return [pieces[at] ?? 0, pieces[at + 1] ?? 0, pieces[at + 2] ?? 0]
  }
}
