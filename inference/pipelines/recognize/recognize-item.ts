import { estimateTokens } from '../token-estimate.ts'

/** One text to search. */
export interface RecognizeItem {
  readonly text: string
  /** The labels to find; empty: all labels of the model. */
  readonly labels: readonly string[]
  readonly relationLabels: readonly string[]
}

/**
 * A named entity. `start` and `end` are UTF-16 code units; -1 for an entity that is not in the
 * text.
 */
export interface Entity {
  readonly text: string
  readonly label: string
  readonly start: number
  readonly end: number
  /** From 0 to 1. */
  readonly score: number
}

/** A relation from one entity to another. */
export interface Relation {
  readonly head: Entity
  readonly tail: Entity
  readonly label: string
  readonly score: number
}

/** The entities and relations of one text. */
export interface RecognizeResult {
  readonly entities: readonly Entity[]
  readonly relations: readonly Relation[]
}

/** The estimated number of tokens of the text and its labels. */
export function costOfRecognizeItem({ text, labels }: RecognizeItem): number {
  const labelChars = labels.reduce((sum, label) => sum + label.length, 0)
  // Each label has one mark before it.
  return estimateTokens(text.length + labelChars) + labels.length + 2
}
