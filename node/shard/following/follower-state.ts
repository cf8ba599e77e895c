import { unreachable } from '../../../lib/assert.ts'
import type { Backfill } from './backfill.ts'

/** What a follower is at (index-follower.ts draws the way between them). */
export type FollowerState =
  /** `reason`: why the index is built again, if it was there before. */
  | { readonly kind: 'opening'; readonly reason: string | undefined }
  | { readonly kind: 'building'; readonly backfill: Backfill }
  | { readonly kind: 'serving' }
  | { readonly kind: 'failed'; readonly error: string }

/** What is wrong, or was and is being repaired. */
export function errorOf(state: FollowerState): string | undefined {
  switch (state.kind) {
    case 'opening':
      return state.reason
    case 'building':
      return state.backfill.reason
    case 'failed':
      return state.error
    case 'serving':
      return undefined
    default:
      return unreachable(state)
  }
}

/** From 0 to 1, by bytes of the table without the most recently written ones. */
export async function progressOf(state: FollowerState): Promise<number> {
  if (state.kind === 'building') return state.backfill.progress()
  return state.kind === 'serving' ? 1 : 0
}
