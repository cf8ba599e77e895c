// The events that the operator records about a cluster.

import { CONDITION_REASONS } from '../kinds/cluster/conditions.ts'
import { AUTO_GROWN } from '../machines/status/events.ts'
import type { StepEvent } from '../machines/status/step-events.ts'
import { OPERATIONS } from './operations.ts'

/** What each event about a step means. */
const STEP_EVENT_MEANINGS: Readonly<Record<StepEvent, string>> = {
  PodDeleted:
    'a pod was deleted: it could not start on an old template, or its volume is one that nothing may start over',
  ClaimDeleted:
    'a volume was deleted: by the policy of the spec, or because its node had left for good',
  ClaimGrown: 'a volume was asked to grow',
  SetScaled: 'a StatefulSet got another number of pods; also when somebody had changed it by hand',
  SetCreated: 'a StatefulSet was made; also when somebody had deleted it',
  EtcdMemberRemoved: 'a member left etcd: there are to be fewer, or its volume is gone',
  EtcdMemberAdded: 'a member joined etcd',
  ObjectsApplied:
    'Services, Secrets, budgets or policies were made or put right; also when somebody had changed them by hand',
  ObjectsDeleted: 'objects were deleted that the spec does not ask for any more',
}

/** An event and what it means. */
export type EventRow = readonly [reason: string, type: string, means: string]

const STEP_REFUSED: EventRow = [
  'StepRefused',
  'Warning',
  'the API server does not take what the operator writes, in its own words: a right, a quota, the level of Pod Security or an admission policy is in the way',
]

const VOLUMES_AUTO_GROWN: EventRow = [
  AUTO_GROWN,
  'Normal',
  'a volume was nearly full, and all volumes of nodes grow by spec.nodes.storage.autoGrow; the message has the new size',
]

/** All events, by their reasons. */
export function eventRows(): readonly EventRow[] {
  const operations = Object.entries(OPERATIONS).flatMap(([type, { means }]): EventRow[] => [
    [`${type}Started`, 'Normal', `begins: ${means}`],
    [`${type}Ended`, 'Normal', `${type} is over`],
  ])
  const steps = Object.entries(STEP_EVENT_MEANINGS).map(([reason, means]): EventRow => [
    reason,
    'Normal',
    means,
  ])
  return [...operations, ...steps, VOLUMES_AUTO_GROWN, STEP_REFUSED]
}

/** Whether the page explains an event with this reason: by its own row, or as the reason of a condition. */
export function isKnownEvent(reason: string): boolean {
  const reasons: readonly string[] = Object.values(CONDITION_REASONS).flat()
  return reasons.includes(reason) || eventRows().some(([known]) => known === reason)
}
