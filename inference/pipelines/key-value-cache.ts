import { floatTensor } from '../runtime/graph-feeds.ts'
import type { GraphSlot, GraphTensor } from '../runtime/graph-session.ts'

export interface CacheShape {
  readonly headCount: number
  readonly headSize: number
}

const PAST = 'past_key_values.'
const PRESENT = 'present.'

export function isCacheInput(name: string): boolean {
  return name.startsWith(PAST)
}

/** The output that holds what this input wants at the next step. */
export function presentName(cacheInput: string): string {
  return PRESENT + cacheInput.slice(PAST.length)
}

/** Keys and values of no token: [batch, heads, 0, size]. */
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

/** Exports declare a flag as a bool or as a float of one element. */
export function flagTensor({ type }: GraphSlot, isOn: boolean): GraphTensor {
  const value = isOn ? 1 : 0
  return type === 'float32'
    ? { type, dims: [1], data: Float32Array.of(value) }
    : { type: 'bool', dims: [1], data: Uint8Array.of(value) }
}
