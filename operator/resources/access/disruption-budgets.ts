// How many pods may be evicted at a time. A set of one pod has no budget, because one would forbid every drain of
// its Kubernetes node.

import type { V1PodDisruptionBudget } from '@kubernetes/client-node'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { objectNames, selectorLabels } from '../parts/names.ts'
import type { Component } from '../parts/names.ts'

export function nodeBudgets(input: ClusterInput) {
  const { cluster, decided } = input
  const { enabled, maxUnavailable } = cluster.spec.podDisruptionBudget
  if (!enabled || decided.nodes.replicas < 2) return []
  const name = objectNames(cluster.name).nodeBudget
  return [buildBudget(input, name, { component: 'node', maxUnavailable })]
}

export function etcdBudgets(input: ClusterInput) {
  const { cluster, decided } = input
  if ((decided.etcd?.replicas ?? 0) < 2) return []
  const name = objectNames(cluster.name).etcdBudget
  return [buildBudget(input, name, { component: 'etcd', maxUnavailable: 1 })]
}

interface BudgetOptions {
  readonly component: Component
  readonly maxUnavailable: number | string
}

function buildBudget(
  { cluster }: ClusterInput,
  name: string,
  { component, maxUnavailable }: BudgetOptions,
) {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(cluster, name, { component }),
    spec: {
      maxUnavailable,
      selector: { matchLabels: selectorLabels(cluster.name, component) },
      // A pod that does not work protects nobody by staying where it is.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  } satisfies Built<V1PodDisruptionBudget>
}
