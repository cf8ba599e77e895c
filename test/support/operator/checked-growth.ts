// What volumes may grow to by themselves, judged when the status is written.

import type { StoreClusterStatus } from '../../../operator/kinds/cluster/status.ts'
import type { AutoGrow, Observed } from '../../../operator/machines/observed/observed.ts'
import { quantityBytes } from '../../../operator/resources/parts/quantity.ts'
import { BrokenInvariant } from './modelled-store.ts'

const PAUSE_MS = 600_000

export function checkGrowth(observed: Observed, after: StoreClusterStatus): void {
  const { cluster, desired } = observed
  const was = grownBytes(cluster.status)
  const is = grownBytes(after)
  const { autoGrow } = desired
  if (is > was && autoGrow === undefined) throw new BrokenInvariant('AG1: growth is switched off')
  if (is > was && autoGrow !== undefined) checkMore(observed, autoGrow, after)
  if (is < was && was > desired.specClaimBytes && autoGrow !== undefined) {
    throw new BrokenInvariant('AG4: a growth was forgotten')
  }
}

function grownBytes(status: StoreClusterStatus | undefined): number {
  return quantityBytes(status?.grownSize ?? '0')
}

function checkMore(
  { cluster, desired, nodes, nowMs }: Observed,
  limits: AutoGrow,
  after: StoreClusterStatus,
): void {
  const is = grownBytes(after)
  const { lastGrownAt = '1970-01-01T00:00:00Z' } = cluster.status ?? {}
  // With the nodes that the same pass has found.
  const used = nodes.claims.filter(({ ordinal }) => ordinal < (after.nodes?.desired ?? 0))
  const largest = Math.max(desired.claimBytes, ...used.map(({ capacityBytes }) => capacityBytes))
  const isFull = used.some(({ usedPercent = 0 }) => usedPercent >= limits.thresholdPercent)
  if (!isFull) throw new BrokenInvariant('AG1: no volume is nearly full')
  if (is > limits.maxBytes || is > largest + limits.incrementBytes) {
    throw new BrokenInvariant('AG1: volumes grow too much')
  }
  if (used.some(({ capacityBytes }) => capacityBytes < desired.claimBytes)) {
    throw new BrokenInvariant('AG2: volumes are still growing')
  }
  if (nowMs - Date.parse(lastGrownAt) < PAUSE_MS) {
    throw new BrokenInvariant('AG3: volumes grow too often')
  }
}
