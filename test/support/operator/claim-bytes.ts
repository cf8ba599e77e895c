import type { StoreClusterStatus } from '../../../operator/kinds/cluster/status.ts'
import { quantityBytes } from '../../../operator/resources/parts/quantity.ts'
import type { Wish } from './cluster-spec.ts'

/** The size that volumes of nodes are to have. */
export function claimBytesOf(wish: Wish, status: StoreClusterStatus | undefined): number {
  return Math.max(wish.bytes, quantityBytes(status?.grownSize ?? '0'))
}
