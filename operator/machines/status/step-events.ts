import type { Step } from '../pass/decision.ts'

/** The steps that are worth an event: those that take something away, or put back what somebody changed by hand. */
export const STEP_EVENTS = {
  delete_pod: 'PodDeleted',
  delete_claim: 'ClaimDeleted',
  grow_claim: 'ClaimGrown',
  set_replicas: 'SetScaled',
  create_set: 'SetCreated',
  remove_etcd_member: 'EtcdMemberRemoved',
  add_etcd_member: 'EtcdMemberAdded',
  apply_children: 'ObjectsApplied',
  delete_children: 'ObjectsDeleted',
} as const satisfies Partial<Record<Step['kind'], string>>

/** The reason of an event about a step. */
export type StepEvent = (typeof STEP_EVENTS)[keyof typeof STEP_EVENTS]
