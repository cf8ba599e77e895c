// The segmenters without rules: runs of letters, runs without white space, and the whole text.

import type { Segmentation } from './segmentation.ts'

// A match is a piece of a run, so every match is short. Adjacent pieces are one token.
const LETTERS = /([\p{L}\p{M}]{1,1024})|[^\p{L}\p{M}]{1,1024}/guy
const NOT_SPACES = /(\S{1,1024})|\s{1,1024}/gy
const NO_RUN = -1

export function segmentLetters(text: string): Segmentation {
  return new RunSegmentation(text, LETTERS)
}

export function segmentByWhitespace(text: string): Segmentation {
  return new RunSegmentation(text, NOT_SPACES)
}

export function segmentWhole(text: string): Segmentation {
  return {
    advance: (_, spans) => {
      if (text !== '') spans.push(0, text.length)
      return true
    },
  }
}

class RunSegmentation implements Segmentation {
  readonly #text: string
  readonly #pattern: RegExp
  #at = 0
  /** The start of the run that continues at `#at`. */
  #start = NO_RUN

  /** The pattern matches a piece of a run with a group, and a piece between runs without one. */
  constructor(text: string, pattern: RegExp) {
    this.#text = text
    this.#pattern = pattern
  }

  advance(upTo: number, spans: number[]): boolean {
    const text = this.#text
    while (this.#at < Math.min(upTo, text.length)) {
      this.#pattern.lastIndex = this.#at
      const [piece = '', run] = this.#pattern.exec(text) ?? []
      if (run === undefined) this.#finish(spans)
      else if (this.#start === NO_RUN) this.#start = this.#at
      this.#at += Math.max(1, piece.length)
    }
    if (this.#at < text.length) return false
    this.#finish(spans)
    return true
  }

  #finish(spans: number[]): void {
    if (this.#start !== NO_RUN) spans.push(this.#start, this.#at)
    this.#start = NO_RUN
  }
}
