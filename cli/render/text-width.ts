// Measures the columns of a text on a terminal, and cuts texts to a number of columns.

const PLAIN_ASCII = /^[\x20-\x7e]*$/

// East Asian wide and full-width blocks, and emoji: terminals draw these ranges two columns wide.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u
const INVISIBLE = /^[\p{M}\p{Cf}]+$/u

/** The columns of a text. */
export function textWidth(text: string): number {
  if (PLAIN_ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment)
  return width
}

/** Built for the first text that needs it: that takes 15 ms, and most texts do not need it. */
const lazy = {
  get segmenter(): Intl.Segmenter {
    const value = new Intl.Segmenter('en', { granularity: 'grapheme' })
    Object.defineProperty(lazy, 'segmenter', { value })
    return value
  },
}

function graphemesOf(text: string): Iterable<{ readonly segment: string }> {
  return lazy.segmenter.segment(text)
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2
  return INVISIBLE.test(grapheme) ? 0 : 1
}

/** The text in at most `width` columns. An ellipsis marks a cut. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemesOf(text)) {
    const next = graphemeWidth(segment)
    if (used + next > width - 1) break
    kept += segment
    used += next
  }
  return `${kept}…`
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - textWidth(text))) + text
}

/** The text on one line without control characters, because stored text must not control the terminal. */
export function printable(text: string): string {
  // The controls of C0 and C1, delete, and the marks that reorder text.
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** Lines of at most `width` characters, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}
