// What people are told, once for each transition.

import type { ConditionType, StoreClusterCondition } from '../../kinds/cluster/conditions.ts'
import type { StoreClusterStatus } from '../../kinds/cluster/status.ts'
import type { OperatorEvent, Step } from '../pass/decision.ts'
import { STEP_EVENTS } from './step-events.ts'

/** Conditions whose other value is worth an event, and the value that is good. */
const TOLD: Partial<Record<ConditionType, 'True' | 'False'>> = {
  Ready: 'True',
  Available: 'True',
  Degraded: 'False',
  SpecValid: 'True',
  SecretsReady: 'True',
  StorageReady: 'True',
  EtcdReady: 'True',
}

/** The reason of the event that tells of a growth that nobody has asked for. */
export const AUTO_GROWN = 'VolumesAutoGrown'

export function eventsOf(
  before: StoreClusterStatus | undefined,
  after: StoreClusterStatus,
  step: Step | undefined,
): OperatorEvent[] {
  return [
    ...operationEvents(before, after),
    ...conditionEvents(before, after),
    ...growthEvents(before, after),
    ...(step === undefined ? [] : stepEvents(step)),
  ]
}

function operationEvents(
  before: StoreClusterStatus | undefined,
  { operation }: StoreClusterStatus,
): OperatorEvent[] {
  const last = before?.operation
  if (last?.id === operation?.id) return []
  const ended = last === undefined ? [] : [normal(`${last.type}Ended`, `${last.type} is over`)]
  const begun =
    operation === undefined
      ? []
      : [normal(`${operation.type}Started`, `${operation.type} has begun`)]
  return [...ended, ...begun]
}

function conditionEvents(
  before: StoreClusterStatus | undefined,
  { conditions }: StoreClusterStatus,
): OperatorEvent[] {
  return (conditions ?? []).flatMap((condition) => {
    const good = TOLD[condition.type]
    const last = before?.conditions?.find(({ type }) => type === condition.type)
    if (good === undefined || !isTransition(last, condition)) return []
    if (condition.status === good) return last === undefined ? [] : [recovered(condition)]
    // Not ready is what every operation makes of a cluster: the operation itself is told of.
    if (condition.type === 'Ready') return []
    return [{ type: 'Warning', reason: condition.reason, message: lapsed(condition) }]
  })
}

function growthEvents(
  before: StoreClusterStatus | undefined,
  { grownSize, lastGrownAt }: StoreClusterStatus,
): OperatorEvent[] {
  if (grownSize === undefined || lastGrownAt === before?.lastGrownAt) return []
  return [normal(AUTO_GROWN, `all volumes of nodes grow to ${grownSize}`)]
}

function isTransition(
  last: StoreClusterCondition | undefined,
  { status, reason }: StoreClusterCondition,
): boolean {
  return last?.status !== status || last.reason !== reason
}

function lapsed({ type, status, message }: StoreClusterCondition): string {
  return message === '' ? `${type} is ${status}` : `${type} is ${status}: ${message}`
}

function recovered({ type, status, reason, message }: StoreClusterCondition): OperatorEvent {
  return normal(reason, message === '' ? `${type} is ${status}` : message)
}

function normal(reason: string, message: string): OperatorEvent {
  return { type: 'Normal', reason, message }
}

function stepEvents(step: Step): OperatorEvent[] {
  const events: Partial<Record<Step['kind'], string>> = STEP_EVENTS
  const found = events[step.kind]
  return found === undefined ? [] : [normal(found, subjectOf(step))]
}

function subjectOf(step: Step): string {
  if ('replicas' in step) return `${step.pool} with ${step.replicas} pods`
  if ('names' in step) return step.names.join(', ')
  if ('name' in step) return step.name
  return 'memberID' in step ? step.memberID : step.kind
}
