import type { ConditionStatus, ConditionType, ReasonOf } from '../../kinds/cluster/conditions.ts'
import type { Pass, Waiting } from '../pass/pass.ts'

/** A condition without its times. */
export interface Told<Of extends ConditionType = ConditionType> {
  readonly status: ConditionStatus
  readonly reason: ReasonOf<Of>
  readonly message: string
}

export function tell<Of extends ConditionType>(
  status: ConditionStatus,
  reason: ReasonOf<Of>,
  message = '',
): Told<Of> {
  return { status, reason, message }
}

/** What a pass ends with: what is remembered, and why nothing advances. */
export interface Ending {
  readonly pass: Pass
  readonly waiting: Waiting | undefined
}
