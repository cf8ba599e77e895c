// The form of advice: what a word in the status of a cluster means, what a person does about it, and where to look.

import type { ConditionType, ReasonOf } from '../../kinds/cluster/conditions.ts'

/** `well` is as it should be, `passing` ends without anybody, `trouble` is for a person. */
export type Tone = 'well' | 'passing' | 'trouble'

/** Advice about one reason of one condition. */
export interface Advice {
  readonly tone: Tone
  readonly means: string
  /** One line, an imperative. */
  readonly act: string
  /** A command that shows more. In it CLUSTER, POD and CLAIM stand for names. */
  readonly look?: string
  /** Another condition that explains the trouble, if that is in trouble too. */
  readonly cause?: ConditionType
  readonly procedure?: Procedure
}

/** Advice about each reason that a condition may give. */
export type AdviceOf<Of extends ConditionType> = Readonly<Record<ReasonOf<Of>, Advice>>

/** What people do step by step: headings of docs/reference/handbook.md. */
export const PROCEDURES = {
  volumeFull: 'A volume is full',
  kubernetesNodeGone: 'A Kubernetes node is gone for good',
  etcdQuorum: 'etcd lost its quorum',
  rolloutStuck: 'A rollout is stuck',
  scaleDownBlocked: 'A scale-down is blocked',
  scaleDownBack: 'Taking back a scale-down',
  operatorUpgrade: 'Upgrading the operator',
  operatorRemoval: 'Removing the operator',
  volumesLeft: 'Volumes that are left',
} as const

export type Procedure = keyof typeof PROCEDURES

export function well(means: string, act = 'nothing'): Advice {
  return { tone: 'well', means, act }
}

type More = Pick<Advice, 'look' | 'cause' | 'procedure'>

export function passing(means: string, act = 'wait', more: More = {}): Advice {
  return { tone: 'passing', means, act, ...more }
}

export function trouble(means: string, act: string, more: More = {}): Advice {
  return { tone: 'trouble', means, act, ...more }
}
