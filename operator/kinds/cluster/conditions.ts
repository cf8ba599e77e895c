// The conditions of a StoreCluster and, of each, the reasons that it may give. A reason is one word for programs; the
// message beside it is for people.

import { Type } from 'typebox'
import { choice, integer, object, text, time } from '../schema/fields.ts'

/** What each condition may give as its reason, by its type. The first ones go with True. */
export const CONDITION_REASONS = {
  Ready: [
    'ClusterReady',
    'OperationInProgress',
    'PodsNotReady',
    'HealthDegraded',
    'EtcdNotReady',
    'InvalidSpec',
    'ServiceUnreachable',
    'Hibernated',
    'Paused',
    'Deleting',
  ],
  Available: [
    'Serving',
    'QuorumLost',
    'ShardsUnavailable',
    'ServiceUnreachable',
    'Starting',
    'Hibernated',
    'Deleting',
  ],
  Progressing: [
    'Advancing',
    'WaitingForPods',
    'WaitingForHealth',
    'WaitingForReplicas',
    'WaitingForEtcd',
    'WaitingForVolumes',
    'WaitingForRolloutSlot',
    'WaitingForDrain',
    'WaitingForFreshState',
    'UpdatesPaused',
    'Blocked',
    'Stalled',
    'Idle',
    'Paused',
    'InvalidSpec',
  ],
  Degraded: [
    'CrashLooping',
    'ImagePullFailed',
    'Unschedulable',
    'VolumeTopologyConflict',
    'DiskNearlyFull',
    'DrainBlocked',
    'Stalled',
    'StartFailed',
    'PodsNotReady',
    'NodeLost',
    'NodeDataLost',
    'ReplicasMissing',
    'EtcdDegraded',
    'CertificateExpiring',
    'Forbidden',
    'QuotaExceeded',
    'AsExpected',
    'Unknown',
  ],
  SpecValid: [
    'Valid',
    'InvalidSpec',
    'UnsupportedVersionChange',
    'ReferenceNotFound',
    'NameConflict',
    'MalformedObject',
  ],
  SecretsReady: ['AllKeysPresent', 'SecretNotFound', 'KeyMissing', 'Forbidden'],
  StorageReady: [
    'AtRequestedSize',
    'ExpansionUnsupported',
    'Resizing',
    'FileSystemResizePending',
    'ExpansionFailed',
    'ClaimsPending',
  ],
  EtcdReady: [
    'AllMembersReady',
    'External',
    'QuorumLost',
    'MemberLost',
    'AlarmNoSpace',
    'AlarmCorrupt',
    'CertificateExpiring',
    'Unreachable',
    'Starting',
    'Hibernated',
  ],
  InferenceReady: [
    'ModelsLoaded',
    'External',
    'Disabled',
    'ModelsLoading',
    'SidecarCrashLooping',
    'SidecarsNotReady',
    'Hibernated',
  ],
  /** Present only while a PodMonitor is asked for. */
  MonitoringReady: ['PodMonitorApplied', 'PodMonitorKindAbsent', 'Forbidden'],
  /** Present only while the annotation is there. */
  Paused: ['PausedByAnnotation'],
  /** Present only while the cluster sleeps, falls asleep or wakes. */
  Hibernated: ['Hibernated', 'Hibernating', 'Resuming'],
  /** Present only while an annotation takes a safeguard away. */
  SafeguardsOff: [
    'DowngradeAllowed',
    'DrainForced',
    'HealthGateSkipped',
    'SeveralSafeguardsOff',
    'AnnotationInvalid',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ConditionType = keyof typeof CONDITION_REASONS
export type ReasonOf<Of extends ConditionType> = (typeof CONDITION_REASONS)[Of][number]

/** What each condition means where its status is True. */
export const CONDITION_MEANINGS: Readonly<Record<ConditionType, string>> = {
  Ready:
    'the spec is applied, all nodes are ready, the store is healthy, and no operation is going; wait for this one',
  Available: 'documents can be read and written',
  Progressing: 'an operation advances, or waits for what its reason names',
  Degraded: 'something needs attention',
  SpecValid: 'what the spec refers to is there and fits',
  SecretsReady: 'all Secrets have the keys that the spec names',
  StorageReady: 'all volumes have the size that was asked for',
  EtcdReady: 'all members of etcd answer, and none raised an alarm',
  InferenceReady: 'inference servers serve, and their models are loaded',
  MonitoringReady: 'the PodMonitor is applied; present only while one is asked for',
  Paused: 'the annotation quarry.dev/paused keeps the operator from changes; present only then',
  Hibernated: 'the cluster sleeps; present only while it does, or falls asleep, or wakes',
  SafeguardsOff: 'an annotation takes a safeguard away; present only then',
}

export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** One condition of a type, with a reason of that type. */
export interface ConditionOf<Of extends ConditionType> {
  readonly type: Of
  readonly status: ConditionStatus
  readonly reason: ReasonOf<Of>
  readonly message: string
  readonly observedGeneration: number
  /** When the status became what it is, as RFC 3339 writes it. */
  readonly lastTransitionTime: string
}

export type StoreClusterCondition = { [Of in ConditionType]: ConditionOf<Of> }[ConditionType]

/** Whether this operator knows the type and the reason: another version of it may have written a condition. */
export function isKnownCondition({ type, reason }: { type: string; reason: string }): boolean {
  return Object.entries<readonly string[]>(CONDITION_REASONS).some(
    ([known, reasons]) => known === type && reasons.includes(reason),
  )
}

/**
 * As Kubernetes' Condition. Types and reasons are not enumerated, so that an operator finds what a later one wrote
 * well-formed; `readStoreCluster` leaves out what this operator does not know.
 */
export const condition = Type.Unsafe<StoreClusterCondition>(
  object('One thing that is known about the cluster.', {
    type: text('What is known.', {
      max: 63,
      min: 1,
      pattern: '^[A-Z][A-Za-z]*$',
    }),
    status: choice(['True', 'False', 'Unknown'], 'Whether it holds.'),
    reason: text('Why, in one word for programs.', {
      max: 63,
      min: 1,
      pattern: '^[A-Z][A-Za-z]*$',
    }),
    message: text('Why, in a sentence for people.', { max: 32_768 }),
    observedGeneration: integer('The generation of the object for which it is known.', {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    lastTransitionTime: time('When the status became what it is.'),
  }),
)
