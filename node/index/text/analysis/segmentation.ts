// How a text is cut into tokens: from left to right, as far as its reader asks for.

/**
 * The search for tokens in one text. Contract, checked for every analyzer by
 * test/unit/node/index/text/analysis/slices.test.ts:
 * - `advance` looks at the text up to about `upTo` and adds the tokens that end there: start, end,
 *   start, end and so on, in UTF-16 units, ascending. It answers whether the text is at its end.
 * - The tokens do not depend on where the steps end.
 * - A step costs time in proportion to its length, whatever the text.
 */
export interface Segmentation {
  advance(upTo: number, spans: number[]): boolean
}

export type Segmenter = (text: string) => Segmentation
