// Volumes grow by themselves: when one is nearly full, all get one new size. It is remembered in the status, from where the
// next pass takes it as the size that is desired, and claims grow as they do for a size in the spec.
//
// Invariants:
//   AG1  The new size is at most one increment more than what the volumes have, and at most `maxSize`.
//   AG2  Volumes grow again only when all of them have the size that is desired, by the spec or by the last growth.
//   AG3  Between two growths lie GROW_PAUSE_MS, and what is known of the volumes is from after the last change of their sizes.
//   AG4  The remembered size becomes smaller only where the spec asks for as much, or where a driver has refused it and nobody
//        wants growth any more.

import { bytesText } from '../pass/bytes-text.ts'
import { isDrained, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { isoTime, sinceMs } from '../pass/memory.ts'
import type { Memory } from '../pass/memory.ts'
import type { ClaimView } from '../observed/kubernetes-view.ts'

/** A volume that fills faster than this needs people. Providers let a volume grow seldom. */
const GROW_PAUSE_MS = 10 * 60_000
/** The store tells of disks as they were a minute ago at most. */
const FIGURES_AGE_MAX_MS = 2 * 60_000

/** Remembers a new size for all volumes, if one of them is nearly full. */
export function autoGrow(pass: Pass): Move | undefined {
  const { nowMs, desired } = pass.observed
  const claims = claimsInUse(pass)
  const bytes = nextBytes(pass, claims)
  if (bytes === undefined || desired.autoGrow === undefined) return undefined
  const { thresholdPercent } = desired.autoGrow
  if (!claims.some(({ usedPercent = 0 }) => usedPercent >= thresholdPercent)) return undefined
  const lastGrownAt = pass.memory.lastGrownAt
  if (lastGrownAt !== undefined && sinceMs(lastGrownAt, nowMs) < GROW_PAUSE_MS) return undefined
  if (!isSettled(pass, claims)) return undefined
  const { memory } = move(pass, pass.memory.operation)
  return { memory: { ...memory, grownSize: bytesText(bytes), lastGrownAt: isoTime(nowMs) } }
}

/** Whether volumes grow by themselves, and have not reached their largest size. */
export function mayAutoGrow(pass: Pass): boolean {
  return nextBytes(pass, claimsInUse(pass)) !== undefined
}

/** Whether volumes would grow if `maxSize` let them. */
export function isAtMaxSize(pass: Pass): boolean {
  const { autoGrow: wanted } = pass.observed.desired
  return wanted !== undefined && largest(pass, claimsInUse(pass)) >= wanted.maxBytes
}

/** AG1. `undefined` where nothing may grow. */
function nextBytes(pass: Pass, claims: readonly ClaimView[]): number | undefined {
  const { autoGrow: wanted } = pass.observed.desired
  if (wanted === undefined || claims.length === 0) return undefined
  const bytes = largest(pass, claims)
  if (bytes >= wanted.maxBytes) return undefined
  if (!claims.every(({ isExpandable }) => isExpandable)) return undefined
  return Math.min(bytes + wanted.incrementBytes, wanted.maxBytes)
}

/** Providers may give more than was asked for. */
function largest({ observed }: Pass, claims: readonly ClaimView[]): number {
  return Math.max(observed.desired.claimBytes, ...claims.map(({ capacityBytes }) => capacityBytes))
}

/** AG2, AG3. */
function isSettled({ observed }: Pass, claims: readonly ClaimView[]): boolean {
  const { desired, cluster, nowMs } = observed
  const isAtSize = claims.every(
    ({ capacityBytes, resize }) => capacityBytes >= desired.claimBytes && resize === undefined,
  )
  const storage = cluster.status?.conditions?.find(({ type }) => type === 'StorageReady')
  if (!isAtSize || storage?.status !== 'True') return false
  return sinceMs(storage.lastTransitionTime, nowMs) >= FIGURES_AGE_MAX_MS
}

function claimsInUse({ observed, memory }: Pass): readonly ClaimView[] {
  return observed.nodes.claims.filter(
    (claim) =>
      claim.ordinal < memory.replicas &&
      claim.clusterUID === observed.cluster.uid &&
      !claim.isDeleting &&
      !isDrained(claim),
  )
}

/** AG4. */
export function withGrownSize(read: Pass): Memory {
  const { grownSize, ...rest } = read.memory
  if (grownSize === undefined) return read.memory
  const { claimBytes, specClaimBytes, autoGrow: wanted } = read.observed.desired
  if (specClaimBytes >= claimBytes) return rest
  const claims = claimsInUse(read)
  const isRefused = claims.some(({ resize }) => resize === 'Failed')
  if (wanted !== undefined || !isRefused) return read.memory
  const granted = Math.max(...claims.map(({ capacityBytes }) => capacityBytes))
  if (granted >= claimBytes) return read.memory
  return granted > specClaimBytes ? { ...rest, grownSize: bytesText(granted) } : rest
}
