import { unreachable } from '../../../lib/assert.ts'
import type { Backfill } from './backfill.ts'

/** The states of a follower; index-follower.ts draws the transitions. */
export type FollowerState =
  /** `reason`: why the index is built again, if it existed before. */
  | { readonly kind: 'opening'; readonly reason: string | undefined }
  | { readonly kind: 'building'; readonly backfill: Backfill }
  | { readonly kind: 'serving' }
  | { readonly kind: 'failed'; readonly error: string }

/** The present problem of the index, or the one that a rebuild is repairing. */
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

/** The progress from 0 to 1, by bytes of the table without the most recently written ones. */
export async function progressOf(state: FollowerState): Promise<number> {
  if (state.kind === 'building') return state.backfill.progress()
  return state.kind === 'serving' ? 1 : 0
}
