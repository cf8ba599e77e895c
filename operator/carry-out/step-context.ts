// What the steps of every kind have in common.

import type { Clock } from '../../lib/clock.ts'
import type { KeySource } from '../certificates/etcd-certificates.ts'
import type { Wishes } from '../children/children.ts'
import type { EtcdAdmin } from '../etcd/etcd-admin.ts'
import type { Pool, Step } from '../machines/pass/decision.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import type { Applier } from '../runtime/writes/applier.ts'
import type { SecretsView } from '../secrets/secrets-view.ts'
import type { StoreAdmin } from '../store/store-admin.ts'

/** What the pass has read that decided on the step. */
export interface StepContext {
  /** The StoreCluster. */
  readonly cluster: StoredObject
  readonly input: ClusterInput
  readonly wishes: Wishes
  /** The sets of the cluster that the step's preconditions were taken from. */
  readonly liveSets: Readonly<Record<Pool, StoredObject | undefined>>
  readonly secrets: SecretsView
  /** Absent while no node can be asked. */
  readonly store: StoreAdmin | undefined
  /** Absent where others run etcd, or nobody does. */
  readonly etcd: EtcdAdmin | undefined
}

/**
 * - `done`: it has happened, now or in an earlier pass.
 * - `outdated`: nothing was done to what is there now, because it is not what the pass has read.
 */
export type StepOutcome = 'done' | 'outdated'

/** What steps are carried out by. */
export interface ExecutorOptions {
  readonly api: KubernetesApi
  readonly applier: Applier
  readonly clock: Clock
  readonly keys: KeySource
  /** `bytes` bytes that nobody can guess, as `randomBytes` of node:crypto gives. */
  readonly random: (bytes: number) => Uint8Array
}

/** What one step is carried out with. */
export interface Hands extends ExecutorOptions {
  readonly context: StepContext
  readonly signal: AbortSignal
}

type StepByKind = { readonly [One in Step as One['kind']]: One }

export type StepOf<Kind extends Step['kind']> = StepByKind[Kind]

/** How steps of these kinds are carried out: a new kind does not compile until it has its row. */
export type Handlers<Kind extends Step['kind']> = {
  readonly [One in Kind]: (step: StepByKind[One], hands: Hands) => Promise<StepOutcome>
}
