// How `quarry query` has lists merged, and where they end.

import { usageError } from '../process/exit.ts'
import { splitList } from './option-values.ts'

/** The options that decide it. */
export interface MergingOptions {
  readonly index?: string
  readonly meaning?: string
  readonly like?: string
  readonly window?: number
  readonly distanceUnder?: readonly string[]
  readonly minScore?: readonly string[]
  readonly autocut?: number
}

/** The members of a query. Words alone are not merged: of them, the scores of the answer decide. */
export function mergingOf(options: MergingOptions): object {
  const { window, autocut } = options
  const thresholds = thresholdsOf(options)
  if (isOfWords(options) && thresholds === undefined && window === undefined) {
    return autocut === undefined ? {} : { pruner: { autocut } }
  }
  const isPlain = thresholds === undefined && window === undefined && autocut === undefined
  return isPlain ? {} : { merge_config: { window_size: window, autocut, thresholds } }
}

function isOfWords({ meaning, like, index = '' }: MergingOptions): boolean {
  return meaning === undefined && like === undefined && splitList(index).length < 2
}

/** Undefined if no option bounds a list. */
function thresholdsOf({ distanceUnder = [], minScore = [] }: MergingOptions): object | undefined {
  const bounds = [
    ...distanceUnder.map(
      (text) => ['distance_under', ...parseBound(text, '--distance-under')] as const,
    ),
    ...minScore.map((text) => ['min_score', ...parseBound(text, '--min-score')] as const),
  ]
  if (bounds.length === 0) return undefined
  const thresholds = new Map<string, Readonly<Record<string, number>>>()
  for (const [member, name, value] of bounds) {
    thresholds.set(name, { ...thresholds.get(name), [member]: value })
  }
  return Object.fromEntries(thresholds)
}

/** `name=number`. A name may have "=" in it. */
function parseBound(text: string, option: string): readonly [name: string, value: number] {
  const at = text.lastIndexOf('=')
  const digits = text.slice(at + 1).trim()
  const value = Number(digits)
  if (at > 0 && digits !== '' && Number.isFinite(value)) return [text.slice(0, at), value]
  throw usageError(`${option}: give the name of an index and a number, like meaning=0.6`)
}
