import type { EngineFamily, FamilyParts, OnWork } from '../../host/index-engine.ts'
import type { CacheCounts } from '../../host/worker-report.ts'
import { TextMemory } from '../engine/text-memory.ts'
import { SelectionCache } from '../search/run-text-select.ts'
import { joinText } from '../search/text-join.ts'
import { outdatedMapping } from './opened-mapping.ts'
import { TextEngine } from './text-engine.ts'
import { TextReader } from './text-reader.ts'

/** The number of documents that a search looks at: a cheaper search takes less time than the messages of its parts. */
const DIVIDED_COST_MIN = 20_000

/** When searches are worth dividing; tests divide cheaper ones. */
export interface DivisionLimits {
  readonly dividedCostMin?: number
}

/** The text engines of one worker: they share caches of pages and terms, and a bound for what is in memory alone. */
export function openTextFamily(
  { clock, memoryBytesMax, disk }: FamilyParts,
  { dividedCostMin = DIVIDED_COST_MIN }: DivisionLimits = {},
): EngineFamily {
  const memory = new TextMemory(memoryBytesMax)
  const selections = new SelectionCache(memory.selectionBytesMax)
  return {
    unflushedBytesMax: memory.segmentBytesMax,
    *open(opening, onWork = nobody) {
      const outdated = outdatedMapping(opening)
      if (outdated !== undefined) return { kind: 'outdated', outdated }
      return {
        kind: 'open',
        engine: yield* TextEngine.openInSteps(opening, {
          clock,
          memory,
          disk,
          onWork,
          selections,
          dividedCostMin,
        }),
      }
    },
    openReader: () => new TextReader({ memory, disk }),
    join: joinText,
    caches() {
      const { pages, terms } = memory
      return {
        pages: countsOf(pages),
        terms: countsOf(terms),
        selections: countsOf(selections),
      }
    },
  }
}

/** As they are now: a cache counts on. */
function countsOf({ hits, misses, bytes }: CacheCounts): CacheCounts {
  return { hits, misses, bytes }
}

/** The caller that opened the index asks `maintain` again by itself. */
const nobody: OnWork = () => undefined
