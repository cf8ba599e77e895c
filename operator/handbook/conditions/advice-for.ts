// Advice about conditions, by type and reason.

import type { ConditionStatus, ConditionType } from '../../kinds/cluster/conditions.ts'
import { PROCEDURES } from '../core/advice.ts'
import type { Advice, AdviceOf } from '../core/advice.ts'
import { HIBERNATED, PAUSED, SAFEGUARDS_OFF } from './by-wish.ts'
import { DEGRADED } from './degraded.ts'
import { ETCD_READY, INFERENCE_READY, STORAGE_READY } from './parts.ts'
import { PROGRESSING } from './progressing.ts'
import { MONITORING_READY, SECRETS_READY, SPEC_VALID } from './references.ts'
import { AVAILABLE, READY } from './serving.ts'

/** A condition or a reason without advice does not compile. */
export const CONDITION_ADVICE: { readonly [Of in ConditionType]: AdviceOf<Of> } = {
  Ready: READY,
  Available: AVAILABLE,
  Progressing: PROGRESSING,
  Degraded: DEGRADED,
  SpecValid: SPEC_VALID,
  SecretsReady: SECRETS_READY,
  StorageReady: STORAGE_READY,
  EtcdReady: ETCD_READY,
  InferenceReady: INFERENCE_READY,
  MonitoringReady: MONITORING_READY,
  Paused: PAUSED,
  Hibernated: HIBERNATED,
  SafeguardsOff: SAFEGUARDS_OFF,
}

const REASONS: ReadonlyMap<string, Readonly<Record<string, Advice>>> = new Map(
  Object.entries(CONDITION_ADVICE),
)

/** What was written by any version of the operator. */
interface Written {
  readonly type: string
  readonly reason: string
}

/** Undefined for what this version does not know. */
export function adviceFor({ type, reason }: Written): Advice | undefined {
  const reasons = REASONS.get(type)
  return reasons !== undefined && Object.hasOwn(reasons, reason) ? reasons[reason] : undefined
}

/** The status that a condition has when all is well; conditions that are there only by a wish have none. */
export const GOOD_STATUS: Readonly<Record<ConditionType, ConditionStatus | undefined>> = {
  Ready: 'True',
  Available: 'True',
  Progressing: undefined,
  Degraded: 'False',
  SpecValid: 'True',
  SecretsReady: 'True',
  StorageReady: 'True',
  EtcdReady: 'True',
  InferenceReady: 'True',
  MonitoringReady: 'True',
  Paused: undefined,
  Hibernated: undefined,
  SafeguardsOff: undefined,
}

/** Where docs/reference/handbook.md tells more: the procedure, or the section of the condition. */
export function anchorFor(type: string, advice: Advice | undefined): string {
  return slugOf(advice?.procedure === undefined ? type : PROCEDURES[advice.procedure])
}

/** As GitHub names a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
