import type { EngineFamily, FamilyParts } from '../../host/index-engine.ts'
import { TextMemory } from '../engine/text-memory.ts'
import { TextEngine } from './text-engine.ts'

/** The text engines of one worker: they share caches of pages and terms, and a bound for what is in memory alone. */
export function openTextFamily({ clock, memoryBytesMax }: FamilyParts): EngineFamily {
  const memory = new TextMemory(memoryBytesMax)
  return {
    unflushedBytesMax: memory.segmentBytesMax,
    *open(opening) {
      const outdated = TextEngine.outdated(opening)
      if (outdated !== undefined) return { kind: 'outdated', outdated }
      return { kind: 'open', engine: yield* TextEngine.openInSteps(opening, { clock, memory }) }
    },
    caches() {
      return { pages: countsOf(memory.pages), terms: countsOf(memory.terms) }
    },
  }
}

/** As they are now: a cache counts on. */
function countsOf({ hits, misses, bytes }: TextMemory['pages' | 'terms']) {
  return { hits, misses, bytes }
}
