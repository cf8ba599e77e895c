// An analyzer for HTML: another analyzer over the text of the page, with offsets into the source.

import { stripHtml } from './html-text.ts'
import type { Analyzer } from './analyzer.ts'
import type { PlainText } from './html-text.ts'

export function buildHtmlAnalyzer(name: string, inner: Analyzer): Analyzer {
  return {
    name,
    analyze: (html) => inner.analyze(stripHtml(html).text),
    analyzeWithOffsets: (html) => {
      const plain = stripHtml(html)
      return inner.analyzeWithOffsets(plain.text).map((token) => ({
        ...token,
        start: sourceOffset(plain, token.start),
        // Behind the last character of the word, not in front of what follows it.
        end: sourceOffset(plain, token.end - 1) + 1,
      }))
    },
    normalize: (term) => inner.normalize(term),
  }
}

/** Where the character at `offset` of the plain text begins in the source. */
function sourceOffset({ pieces }: PlainText, offset: number): number {
  let low = 0
  let high = pieces.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((pieces[middle]?.plainAt ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  const piece = pieces[low]
  return piece === undefined ? offset : piece.sourceAt + (offset - piece.plainAt)
}
