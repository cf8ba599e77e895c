import { estimateTokens } from '../token-estimate.ts'

export interface RecognizeItem {
  readonly text: string
  /** Of a model of fixed labels: those that are wanted, or none for all. */
  readonly labels: readonly string[]
  readonly relationLabels: readonly string[]
}

/** `start` and `end` are UTF-16 code units; -1 for an entity that does not stand in the text. */
export interface Entity {
  readonly text: string
  readonly label: string
  readonly start: number
  readonly end: number
  /** From 0 to 1. */
  readonly score: number
}

export interface Relation {
  readonly head: Entity
  readonly tail: Entity
  readonly label: string
  readonly score: number
}

export interface RecognizeResult {
  readonly entities: readonly Entity[]
  readonly relations: readonly Relation[]
}

/** About how many tokens the text and its labels have. */
export function costOfRecognizeItem({ text, labels }: RecognizeItem): number {
  const labelChars = labels.reduce((sum, label) => sum + label.length, 0)
  // A label has a mark in front.
  return estimateTokens(text.length + labelChars) + labels.length + 2
}
