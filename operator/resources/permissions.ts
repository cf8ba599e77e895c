// What the operator may do and what it watches: as much as its objects and its state machines need, and no more. The
// chart writes the same rules; test/unit/operator/resources/permissions.test.ts holds both together.

import { STORE_CLUSTER } from '../kinds/cluster/store-cluster.ts'

/** A rule of a Role, which may be cut to one namespace or hold in all. */
export interface PermissionRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly Verb[]
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete'

const OWNED: readonly Verb[] = ['get', 'list', 'watch', 'create', 'patch', 'delete']
const { group, plural } = STORE_CLUSTER

/** In every namespace whose clusters the operator looks after. */
export const CLUSTER_RULES: readonly PermissionRule[] = [
  { apiGroups: [group], resources: [plural], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ['get', 'patch'] },
  // Without it some Kubernetes clusters refuse owner references that hold up deletion.
  { apiGroups: [group], resources: [`${plural}/finalizers`], verbs: ['update'] },
  { apiGroups: ['apps'], resources: ['statefulsets'], verbs: OWNED },
  // The template that pods without their set were made from.
  { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['get'] },
  { apiGroups: [''], resources: ['services', 'configmaps', 'serviceaccounts'], verbs: OWNED },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: OWNED },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: OWNED },
  {
    apiGroups: [''],
    resources: ['pods', 'persistentvolumeclaims'],
    verbs: ['get', 'list', 'watch', 'patch', 'delete'],
  },
  // Read by name, never listed: the operator knows which it needs.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** Beside those, where the kind PodMonitor exists. */
export const POD_MONITOR_RULES: readonly PermissionRule[] = [
  { apiGroups: ['monitoring.coreos.com'], resources: ['podmonitors'], verbs: OWNED },
]

/** In the operator's own namespace. */
export const LEADER_RULES: readonly PermissionRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
]

/** For the whole Kubernetes cluster. Without them some checks are left out, and say so. */
export const CLUSTER_WIDE_RULES: readonly PermissionRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['get', 'list'] },
]

/** A kind whose objects the operator keeps a copy of. */
export interface WatchedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** Only those with this selector; absent: all. */
  readonly labelSelector?: string
  /** Only where the kind exists. */
  readonly isOptional?: true
}

const OURS = 'app.kubernetes.io/name=quarry'

export const WATCHED_KINDS: readonly WatchedKind[] = [
  {
    apiVersion: `${group}/${STORE_CLUSTER.version}`,
    kind: STORE_CLUSTER.kind,
    plural,
  },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets', labelSelector: OURS },
  { apiVersion: 'v1', kind: 'Pod', plural: 'pods', labelSelector: OURS },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    plural: 'persistentvolumeclaims',
    labelSelector: OURS,
  },
  { apiVersion: 'v1', kind: 'Service', plural: 'services', labelSelector: OURS },
  { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', labelSelector: OURS },
  { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', labelSelector: OURS },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    labelSelector: OURS,
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    labelSelector: OURS,
  },
  {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    plural: 'podmonitors',
    labelSelector: OURS,
    isOptional: true,
  },
]
