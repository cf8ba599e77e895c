// Splits a text into tokens, from left to right, as far as the reader asks.

/**
 * The search for tokens in one text. Contract, checked for every analyzer by
 * test/unit/node/index/text/analysis/slices.test.ts:
 * - `advance` reads the text up to about `upTo` and adds the tokens that end there: start, end,
 *   start, end and so on, in UTF-16 units, ascending. It answers whether the text has ended.
 * - The tokens do not depend on the places where steps end.
 * - A step takes time in proportion to its length, for any text.
 */
export interface Segmentation {
  advance(upTo: number, spans: number[]): boolean
}

export type Segmenter = (text: string) => Segmentation
