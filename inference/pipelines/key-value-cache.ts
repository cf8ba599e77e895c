import { floatTensor } from '../runtime/graph-feeds.ts'
import type { GraphSlot, GraphTensor } from '../runtime/graph-session.ts'

/** The sizes of a cache, for graphs that do not declare them. */
export interface CacheShape {
  readonly headCount: number
  readonly headSize: number
}

const PAST = 'past_key_values.'
const PRESENT = 'present.'

/** Whether an input of a decoder belongs to its cache. */
export function isCacheInput(name: string): boolean {
  return name.startsWith(PAST)
}

/** The output that a cache input takes at the next step. */
export function presentName(cacheInput: string): string {
  return PRESENT + cacheInput.slice(PAST.length)
}

/** The cache before the first token: [batch, heads, 0, size]. */
export function emptyCache(
  inputs: readonly GraphSlot[],
  { headCount, headSize }: CacheShape,
): Record<string, GraphTensor> {
  return Object.fromEntries(
    inputs.map((slot): [string, GraphTensor] => {
      const dims = [1, slot.dims[1] ?? headCount, 0, slot.dims[3] ?? headSize]
      return [slot.name, floatTensor(slot, dims, new Float32Array())]
    }),
  )
}

/** A flag of one element. Exports declare it as a bool or as a float. */
export function flagTensor({ type }: GraphSlot, isOn: boolean): GraphTensor {
  const value = isOn ? 1 : 0
  return type === 'float32'
    ? { type, dims: [1], data: Float32Array.of(value) }
    : { type: 'bool', dims: [1], data: Uint8Array.of(value) }
}
