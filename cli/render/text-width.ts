// Measures the columns of a text on a terminal, and cuts texts to a number of columns.

import { createRequire } from 'node:module'
import type stringWidth from 'string-width'

const PLAIN_ASCII = /^[\x20-\x7e]*$/

/**
 * Loaded when the first text needs them, because most commands show plain text only: the package and
 * the segmenter cost a call about 40 ms.
 */
const lazy = {
  get stringWidth(): typeof stringWidth {
    const load: (name: string) => { readonly default: typeof stringWidth } = createRequire(
      import.meta.url,
    )
    const { default: value } = load('string-width')
    Object.defineProperty(lazy, 'stringWidth', { value })
    return value
  },
  get segmenter(): Intl.Segmenter {
    const value = new Intl.Segmenter('en', { granularity: 'grapheme' })
    Object.defineProperty(lazy, 'segmenter', { value })
    return value
  },
}

/** The columns of printable text. Escape sequences of terminals count nothing. */
export function textWidth(text: string): number {
  return PLAIN_ASCII.test(text) ? text.length : lazy.stringWidth(text)
}

/** The text in at most `width` columns. An ellipsis marks a cut. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of lazy.segmenter.segment(text)) {
    const next = textWidth(segment)
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
