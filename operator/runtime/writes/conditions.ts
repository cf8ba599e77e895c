// Conditions of an object's status, as the API's conventions have them.

import { assert } from '../../../lib/assert.ts'

export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** One condition, in the form of metav1.Condition. */
export interface Condition {
  readonly type: string
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
  readonly lastTransitionTime: string
}

const TYPE = /^[A-Z][A-Za-z0-9]{0,62}$/
const REASON = /^[A-Z][A-Za-z0-9]{0,254}$/
/** The limit of the API is 32 KiB; a message is read by people. */
const MESSAGE_LENGTH_MAX = 4096

/**
 * The conditions with this one, sorted by type. Contract:
 * - `lastTransitionTime` moves when the status of this condition changes, and at no other time.
 * - Equal input gives equal output, so that a status which says the same is not written again.
 */
export function setCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): readonly Condition[] {
  assert(TYPE.test(next.type), 'the type of a condition is a word in CamelCase')
  assert(REASON.test(next.reason), 'the reason of a condition is a word in CamelCase')
  const known = conditions.find(({ type }) => type === next.type)
  const isSame = known !== undefined && known.status === next.status
  const lastTransitionTime = isSame ? known.lastTransitionTime : timeText(nowMs)
  const message = shortened(next.message)
  const others = conditions.filter(({ type }) => type !== next.type)
  return [...others, { ...next, message, lastTransitionTime }].toSorted(byType)
}

/** RFC 3339 in whole seconds: the API cuts the rest, and would then answer something other than what was written. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function shortened(message: string): string {
  return message.length <= MESSAGE_LENGTH_MAX
    ? message
    : `${message.slice(0, MESSAGE_LENGTH_MAX - 1)}…`
}

function byType(a: Condition, b: Condition): number {
  if (a.type === b.type) return 0
  return a.type < b.type ? -1 : 1
}
