// When to look again, if no watch has told of a change before.

import type { ReasonOf } from '../../kinds/cluster/conditions.ts'
import type { StoreClusterStatus } from '../../kinds/cluster/status.ts'
import type { Move } from '../pass/pass.ts'

/** After a step or a new phase: what it does is seen soon. */
const NEXT_MS = 250
/** The store and etcd tell nothing by themselves. */
const PENDING_MS = 5_000
const DEGRADED_MS = 15_000
/** What waits for people or for other clusters. */
const GATE_MS = 60_000
/** Volumes fill and nodes fall ill without a change of any object. */
const HEALTHY_MS = 60_000
const ASLEEP_MS = 5 * 60_000

const WAITS: Partial<Record<ReasonOf<'Progressing'>, number>> = {
  Blocked: GATE_MS,
  Stalled: GATE_MS,
  InvalidSpec: GATE_MS,
  UpdatesPaused: GATE_MS,
  Paused: GATE_MS,
  WaitingForRolloutSlot: DEGRADED_MS,
}

/** `isSame`: the status that the pass ends with is the one that it began with. */
export function requeueMs(move: Move, status: StoreClusterStatus, isSame: boolean): number {
  if (move.step !== undefined) return move.step.kind === 'hand_over' ? PENDING_MS : NEXT_MS
  if (move.waiting !== undefined) return WAITS[move.waiting.reason] ?? PENDING_MS
  if (status.operation !== undefined) return isSame ? PENDING_MS : NEXT_MS
  if (!isSame) return NEXT_MS
  if (status.phase === 'Hibernated') return ASLEEP_MS
  return isSettled(status) ? HEALTHY_MS : DEGRADED_MS
}

/** No object changes when models are loaded. */
function isSettled({ conditions = [] }: StoreClusterStatus): boolean {
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  return isReady && !conditions.some(({ reason }) => reason === 'ModelsLoading')
}
