import type { StoreClusterStatus } from '../../kinds/cluster/status.ts'
import type { Decision } from '../pass/decision.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { eventsOf } from './events.ts'
import { requeueMs } from './requeue.ts'
import { statusOf } from './status.ts'

/** What a pass ends with: the move, and all that it is told as. */
export function decisionOf(pass: Pass, move: Move): Decision {
  const { status: before } = pass.observed.cluster
  const after = statusOf({ pass: { ...pass, memory: move.memory }, waiting: move.waiting })
  const isSame = before !== undefined && isEqual(before, after)
  const status = isSame ? before : after
  return {
    ...(move.step === undefined ? {} : { step: move.step }),
    status,
    events: eventsOf(before, status, move.step),
    requeueMs: requeueMs(move, status, isSame),
  }
}

/** Both are JSON. The order of their keys says nothing: the API server keeps it as it likes. */
function isEqual(one: StoreClusterStatus, other: StoreClusterStatus): boolean {
  return canonical(one) === canonical(other)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isRecord(inner) ? sorted(inner) : inner))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}
