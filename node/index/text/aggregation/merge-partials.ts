import { must } from '../../../../lib/assert.ts'
import { runAtOnce, StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type {
  AggregationPartial,
  AggregationPartials,
  BucketKey,
  BucketPartial,
  BucketsPartial,
} from './aggregation-partial.ts'
import { mergeDistinct, mergeNumbers } from './metric-aggregation.ts'

/** Merging these takes about a millisecond. */
const BUCKETS_PER_STEP = 4000

/** Merges the partials of any number of shards. Without shards the result is an empty map. */
export function mergePartials(all: readonly AggregationPartials[]): AggregationPartials {
  return runAtOnce(mergePartialsSliced(all))
}

/**
 * Merges as `mergePartials` does, in steps. Dozens of shards may each have tens of thousands of
 * buckets.
 */
export function* mergePartialsSliced(
  all: readonly AggregationPartials[],
): Sliced<AggregationPartials> {
  return yield* new PartialMerger().level(all)
}

/** The sum of one bucket over the shards so far. */
interface Sum {
  readonly key: BucketKey
  docCount: number
  backgroundCount: number
  readonly subs: AggregationPartials[]
}

class PartialMerger {
  readonly #meter: StepMeter

  constructor() {
    this.#meter = new StepMeter(BUCKETS_PER_STEP)
  }

  *level(all: readonly AggregationPartials[]): Sliced<AggregationPartials> {
    const [first] = all
    if (first !== undefined && all.length === 1) return first
    const byName = new Map<string, AggregationPartial[]>()
    for (const partials of all) {
      for (const [name, partial] of partials) {
        const known = byName.get(name)
        if (known === undefined) byName.set(name, [partial])
        else known.push(partial)
      }
    }
    const merged = new Map<string, AggregationPartial>()
    for (const [name, parts] of byName) merged.set(name, yield* this.#all(parts))
    return merged
  }

  /** All parts come from one request, so they have one kind. */
  *#all(parts: readonly AggregationPartial[]): Sliced<AggregationPartial> {
    const buckets = parts.filter((part) => part.kind === 'buckets')
    if (buckets.length > 0) return yield* this.#buckets(buckets)
    let merged = must(parts[0], 'a partial of the name')
    for (const part of parts.slice(1)) {
      merged = mergeMetrics(merged, part)
      if (this.#meter.spend(BUCKETS_PER_STEP / 2)) yield
    }
    return merged
  }

  *#buckets(parts: readonly BucketsPartial[]): Sliced<BucketsPartial> {
    const [first] = parts
    if (first !== undefined && parts.length === 1) return first
    const sums = new Map<BucketKey, Sum>()
    for (const { buckets } of parts) {
      for (const { key, docCount, backgroundCount, sub } of buckets) {
        const sum = sums.get(key)
        if (sum === undefined) sums.set(key, { key, docCount, backgroundCount, subs: [sub] })
        else {
          sum.docCount += docCount
          sum.backgroundCount += backgroundCount
          sum.subs.push(sub)
        }
        if (this.#meter.spend(1)) yield
      }
    }
    return {
      kind: 'buckets',
      buckets: yield* this.#whole(sums),
      isCut: parts.some(({ isCut }) => isCut),
      foundCount: parts.reduce((count, { foundCount }) => count + foundCount, 0),
      backgroundCount: parts.reduce((count, part) => count + part.backgroundCount, 0),
    }
  }

  *#whole(sums: ReadonlyMap<BucketKey, Sum>): Sliced<readonly BucketPartial[]> {
    const buckets: BucketPartial[] = []
    for (const { subs, ...counts } of sums.values()) {
      buckets.push({ ...counts, sub: yield* this.level(subs) })
      if (this.#meter.spend(1)) yield
    }
    return buckets
  }
}

function mergeMetrics(a: AggregationPartial, b: AggregationPartial): AggregationPartial {
  if (a.kind === 'numbers' && b.kind === 'numbers') return mergeNumbers(a, b)
  return mergeDistinct(a, b)
}
