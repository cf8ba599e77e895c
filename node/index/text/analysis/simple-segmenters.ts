// The segmenters that need no rules: runs of letters, runs without white space, and the whole.

import type { Spans } from './word-segmenter.ts'

const LETTERS = /[\p{L}\p{M}]+/gu
const NOT_SPACES = /\S+/g

export function segmentLetters(text: string): Spans {
  return spansOf(text, LETTERS)
}

export function segmentByWhitespace(text: string): Spans {
  return spansOf(text, NOT_SPACES)
}

export function segmentWhole(text: string): Spans {
  return text === '' ? [] : [0, text.length]
}

function spansOf(text: string, pattern: RegExp): Spans {
  const spans: number[] = []
  for (const match of text.matchAll(pattern)) spans.push(match.index, match.index + match[0].length)
  return spans
}
