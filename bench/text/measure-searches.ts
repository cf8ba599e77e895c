import type { Clock } from '../../lib/clock.ts'
import type { Measurement } from './engine-job.ts'
import type { TextEngine } from '../peers/text-engine.ts'

/** How long each query took, in milliseconds. */
export function measureSearches(
  engine: TextEngine,
  { queries, bounds }: Measurement,
  clock: Clock,
): readonly number[] {
  const searches = queries.map((query) => engine.prepare(query))
  const latenciesMs: number[] = []
  const startedMs = clock.monotonicMs()
  const isEnough = (nowMs: number): boolean => {
    if (bounds === undefined || latenciesMs.length < bounds.queriesMin) return false
    return nowMs - startedMs >= bounds.budgetMs
  }
  for (const search of searches) {
    const startMs = clock.monotonicMs()
    if (isEnough(startMs)) break
    search()
    latenciesMs.push(clock.monotonicMs() - startMs)
  }
  return latenciesMs
}
