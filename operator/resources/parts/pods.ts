// What the pods of nodes and of etcd have in common.

import type {
  V1Affinity,
  V1PersistentVolumeClaim,
  V1PodSpec,
  V1Probe,
  V1ResourceRequirements,
  V1TopologySpreadConstraint,
} from '@kubernetes/client-node'
import type { NodePool, StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import { present, sorted } from './built.ts'
import type { Built } from './built.ts'
import type { ClusterInput } from './cluster-input.ts'
import { ANNOTATIONS, objectLabels, objectNames, selectorLabels } from './names.ts'
import type { Component } from './names.ts'
import { podSecurity } from './pod-security.ts'

const HOST = 'kubernetes.io/hostname'
const ZONE = 'topology.kubernetes.io/zone'
const PREFERRED_WEIGHT = 100
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

type Resources = NonNullable<NodePool['resources']>

export function resourcesOf(resources: Resources | undefined): Built<V1ResourceRequirements> {
  const { requests, limits } = resources ?? {}
  return present({ requests: amountsOf(requests), limits: amountsOf(limits) })
}

/** People may write whole numbers without quotes; Kubernetes keeps texts. */
function amountsOf(amounts: Readonly<Record<string, number | string>> | undefined) {
  if (amounts === undefined) return undefined
  return sorted(
    Object.fromEntries(Object.entries(amounts).map(([name, value]) => [name, String(value)])),
  )
}

/** A probe by HTTP, with the times that differ. */
export function httpProbe(
  { path, port }: { readonly path: string; readonly port: string },
  times: Pick<V1Probe, 'periodSeconds' | 'failureThreshold' | 'timeoutSeconds'>,
): Built<V1Probe> {
  return { httpGet: { path, port, scheme: 'HTTP' }, ...times }
}

/** The fields of a pod that do not concern its containers. */
export function podBasics(
  { cluster: { name, spec } }: ClusterInput,
  component: Component,
): Omit<Built<V1PodSpec>, 'containers'> {
  const { nodes } = spec
  return {
    affinity: affinityOf(name, nodes, component),
    automountServiceAccountToken: false,
    // The variables of a Service named "quarry" would be taken for options: QUARRY_PORT and others.
    enableServiceLinks: false,
    securityContext: podSecurity(spec),
    serviceAccountName: spec.serviceAccount.name ?? objectNames(name).serviceAccount,
    topologySpreadConstraints: spreadOf(name, nodes, component),
    ...present({
      imagePullSecrets: spec.imagePullSecrets,
      nodeSelector: nodes.nodeSelector,
      priorityClassName: nodes.priorityClassName,
      schedulerName: nodes.schedulerName,
      tolerations: nodes.tolerations,
    }),
  }
}

function affinityOf(cluster: string, nodes: NodePool, component: Component): Built<V1Affinity> {
  const given: Built<V1Affinity> = component === 'node' ? (nodes.affinity ?? {}) : {}
  const term = {
    labelSelector: { matchLabels: selectorLabels(cluster, component) },
    topologyKey: HOST,
  }
  if (nodes.podAntiAffinityPreset === 'None') return given
  const apart = given.podAntiAffinity ?? {}
  const own = { podAffinityTerm: term, weight: PREFERRED_WEIGHT }
  const more =
    nodes.podAntiAffinityPreset === 'Required'
      ? { [REQUIRED]: [...(apart[REQUIRED] ?? []), term] }
      : { [PREFERRED]: [...(apart[PREFERRED] ?? []), own] }
  return { ...given, podAntiAffinity: { ...apart, ...more } }
}

function spreadOf(
  cluster: string,
  { topologySpreadConstraints: given = [] }: NodePool,
  component: Component,
): readonly Built<V1TopologySpreadConstraint>[] {
  const labelSelector = { matchLabels: selectorLabels(cluster, component) }
  if (component === 'node' && given.length > 0) {
    return given.map((constraint) => ({ labelSelector, ...constraint }))
  }
  return [{ labelSelector, maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'ScheduleAnyway' }]
}

/** Labels of pods: those that people add, and under them those that the operator needs. */
export function podLabels(
  { name, spec }: { readonly name: string; readonly spec: StoreClusterSpec },
  component: Component,
): Readonly<Record<string, string>> {
  return sorted({
    ...(component === 'node' ? withoutOwned(spec.nodes.podLabels) : {}),
    ...objectLabels(name, component),
  })
}

/** What people wrote, less the names that belong to the operator. */
export function withoutOwned(
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([key]) => !isOwnedKey(key)))
}

function isOwnedKey(key: string): boolean {
  return key.startsWith('app.kubernetes.io/') || key.startsWith('quarry.dev/')
}

/** What a claim differs by. */
export interface ClaimOptions {
  readonly name: string
  readonly size: string
  readonly component: Component
  readonly storageClassName?: string | undefined
  readonly volumeAttributesClassName?: string | undefined
}

/** The template of a StatefulSet's claims, one for each pod. */
export function claimTemplate(
  { cluster }: ClusterInput,
  { name, size, component, storageClassName, volumeAttributesClassName }: ClaimOptions,
): Built<V1PersistentVolumeClaim> {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      annotations: { [ANNOTATIONS.clusterUID]: cluster.uid },
      labels: selectorLabels(cluster.name, component),
      name,
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      volumeMode: 'Filesystem',
      ...present({ storageClassName, volumeAttributesClassName }),
    },
  }
}
