// Terms that are more frequent in the matching documents than in a background.

import { unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { BucketAggregation, Significance } from '../../../query/request/aggregation-request.ts'
import type { AggregationContext, GatherSub } from './aggregation-context.ts'
import {
  compareBucketKeys,
  type AggregationPartials,
  type BucketKey,
  type BucketsPartial,
} from './aggregation-partial.ts'
import { countDocs, type DocSet } from './doc-set.ts'
import { sortedInSteps } from './sorted-in-steps.ts'
import { countTerms, keptMax, SHARD_TERMS_MAX, termColumns, withSub } from './terms-aggregation.ts'

export type SignificantRequest = Extract<BucketAggregation, { readonly kind: 'significant-terms' }>

/** The cost of a term that is judged. */
const TERM_COST = 16

interface SignificantTerm {
  readonly key: BucketKey
  readonly docCount: number
  readonly backgroundCount: number
  readonly score: number
}

function bySignificance(a: SignificantTerm, b: SignificantTerm): number {
  return (
    b.score - a.score || b.backgroundCount - a.backgroundCount || compareBucketKeys(a.key, b.key)
  )
}

/** The counts of documents with and without one term. */
export interface TermShares {
  readonly docCount: number
  readonly foundCount: number
  readonly termBackgroundCount: number
  readonly backgroundCount: number
}

/**
 * Also reports terms that only the background has, because another shard may have matches with
 * them. A shard with more terms than it may report keeps the most significant ones, and then the
 * most frequent.
 */
export function* gatherSignificant(
  context: AggregationContext,
  request: SignificantRequest,
  { set, sub }: { readonly set: DocSet; readonly sub: GatherSub | undefined },
): Sliced<BucketsPartial> {
  const fields = termColumns(context, request)
  const background = yield* context.source.find(request.background)
  const totals = { foundCount: countDocs(set), backgroundCount: countDocs(background) }
  const found = yield* countTerms(context, fields, set)
  const inBackground = yield* countTerms(context, fields, background)
  const all: SignificantTerm[] = []
  const add = (key: BucketKey): void => {
    const docCount = found.byKey.get(key) ?? 0
    const backgroundCount = inBackground.byKey.get(key) ?? 0
    const shares = { ...totals, docCount, termBackgroundCount: backgroundCount }
    const score = significanceOf(request.algorithm, shares)
    all.push({ key, docCount, backgroundCount, score })
  }
  for (const key of found.byKey.keys()) {
    add(key)
    if (context.poll.spend(TERM_COST)) yield context.poll.renewed()
  }
  for (const key of inBackground.byKey.keys()) {
    if (!found.byKey.has(key)) add(key)
    if (context.poll.spend(TERM_COST)) yield context.poll.renewed()
  }
  const ranked = yield* sortedInSteps(all, bySignificance, context.poll)
  const told = ranked.slice(0, SHARD_TERMS_MAX)
  const deep = ranked
    .filter(({ docCount }) => docCount > 0)
    .slice(0, keptMax(context, request.size, true))
  const below = yield* subOf(context, set, { fields, keys: deep.map(({ key }) => key), sub })
  const buckets = told.map(({ key, docCount, backgroundCount }) => {
    return { key, docCount, backgroundCount, sub: below.get(key) ?? new Map() }
  })
  const isLess = !context.source.isWhole && told.length < ranked.length
  const isCut = isLess || found.isCut || inBackground.isCut
  return { kind: 'buckets', buckets, isCut, ...totals }
}

function* subOf(
  context: AggregationContext,
  set: DocSet,
  options: {
    readonly fields: readonly string[]
    readonly keys: readonly BucketKey[]
    readonly sub: GatherSub | undefined
  },
): Sliced<ReadonlyMap<BucketKey, AggregationPartials>> {
  const { fields, keys, sub } = options
  if (sub === undefined) return new Map()
  const buckets = yield* withSub(context, set, { fields, kept: new Set(keys), sub })
  return new Map(buckets.map(({ key, sub: partials }) => [key, partials]))
}

/**
 * The significance of a term; 0 for a term that is not more frequent among the matching documents.
 */
export function significanceOf(algorithm: Significance, shares: TermShares): number {
  const { docCount, foundCount, termBackgroundCount, backgroundCount } = shares
  const foundShare = foundCount === 0 ? 0 : docCount / foundCount
  const backgroundShare = backgroundCount === 0 ? 0 : termBackgroundCount / backgroundCount
  if (foundShare <= backgroundShare) return 0
  // A background filter may exclude documents that the query matches.
  const floor = Math.max(backgroundShare, 1 / Math.max(1, backgroundCount))
  switch (algorithm) {
    case 'jlh':
      return (foundShare - backgroundShare) * (foundShare / floor)
    case 'percentage':
      return docCount / Math.max(1, termBackgroundCount)
    case 'chi_squared':
      return chiSquared(cellsOf(shares))
    case 'mutual_information':
      return mutualInformation(cellsOf(shares))
    default:
      return unreachable(algorithm)
  }
}

/** A contingency table: documents that match or do not, with the term or without it. */
interface Cells {
  readonly both: number
  readonly termOnly: number
  readonly foundOnly: number
  readonly neither: number
}

function cellsOf(shares: TermShares): Cells {
  const { docCount, foundCount, termBackgroundCount, backgroundCount } = shares
  const termOnly = Math.max(0, termBackgroundCount - docCount)
  const foundOnly = foundCount - docCount
  const neither = Math.max(0, backgroundCount - docCount - termOnly - foundOnly)
  return { both: docCount, termOnly, foundOnly, neither }
}

function chiSquared({ both, termOnly, foundOnly, neither }: Cells): number {
  const total = both + termOnly + foundOnly + neither
  const divisor =
    (both + termOnly) * (both + foundOnly) * (termOnly + neither) * (foundOnly + neither)
  return divisor === 0 ? 0 : (total * (both * neither - termOnly * foundOnly) ** 2) / divisor
}

/** In bits (Manning, Raghavan, Schütze: Introduction to Information Retrieval, 13.5.1). */
function mutualInformation({ both, termOnly, foundOnly, neither }: Cells): number {
  const total = both + termOnly + foundOnly + neither
  const part = (cell: number, row: number, column: number): number =>
    cell === 0 ? 0 : (cell / total) * Math.log2((total * cell) / (row * column))
  return (
    part(both, both + termOnly, both + foundOnly) +
    part(termOnly, both + termOnly, termOnly + neither) +
    part(foundOnly, foundOnly + neither, both + foundOnly) +
    part(neither, foundOnly + neither, termOnly + neither)
  )
}
