// The metrics of the clusters that the operator looks after, as Prometheus text.
//
// Invariants:
//   MTC1  At most CLUSTERS_MAX clusters have series of their own; of how many have none, a series tells.
//   MTC2  A cluster that is not listed any more has no series in the next scrape.
//   MTC3  Values of labels are names of clusters and words of the kind: nothing of a spec, and no message.

import { familyLines, gauge } from '../../lib/metrics.ts'
import type { Labels, Sample } from '../../lib/metrics.ts'
import { measuredCluster } from './measured-cluster.ts'
import type { MeasuredCluster, MeasuredObject } from './measured-cluster.ts'

/** A cluster has some twenty-five series, so that these are as many as a Prometheus takes from one target without notice. */
export const CLUSTERS_MAX = 500

/** The values of one series of clusters; none for clusters of which it is not known. */
type Family = readonly [
  name: string,
  help: string,
  samplesOf: (cluster: MeasuredCluster, nowMs: number) => readonly Sample[],
]

const FAMILIES: readonly Family[] = [
  [
    'ready',
    'Whether the condition Ready of a cluster is True.',
    ({ conditions }) => one(Number(conditions.some(isReady))),
  ],
  [
    'condition',
    'Always 1; the labels are a condition of a cluster as it is now.',
    ({ conditions }) =>
      conditions.map(({ type, status, reason }) => ({
        labels: { type, status, reason },
        value: 1,
      })),
  ],
  [
    'phase',
    'Always 1; the label is the phase of a cluster.',
    ({ phase }) => (phase === '' ? [] : [{ labels: { phase }, value: 1 }]),
  ],
  [
    'generations_behind',
    'Changes of the spec of a cluster that the operator has not looked at.',
    ({ generationsBehind }) => one(generationsBehind),
  ],
  [
    'operation_seconds',
    'Age of the operation that a cluster is in.',
    ({ operation }, nowMs) => ageOf(operation?.type, operation?.startedMs, nowMs),
  ],
  [
    'operation_idle_seconds',
    'Time since anything moved in the operation that a cluster is in.',
    ({ operation }, nowMs) => ageOf(operation?.type, operation?.movedMs, nowMs),
  ],
  ['nodes_desired', 'Nodes that a cluster is to have.', ({ nodes }) => one(nodes.desired)],
  ['nodes_ready', 'Nodes of a cluster that are ready.', ({ nodes }) => one(nodes.ready)],
  [
    'nodes_updated',
    'Nodes of a cluster that are of the newest template.',
    ({ nodes }) => one(nodes.updated),
  ],
  [
    'etcd_members_desired',
    'Members that the etcd of a cluster is to have.',
    ({ etcd }) => one(etcd.desired),
  ],
  [
    'etcd_members_ready',
    'Members of the etcd of a cluster that answer.',
    ({ etcd }) => one(etcd.ready),
  ],
  [
    'etcd_database_bytes',
    'The largest database of the members of the etcd of a cluster.',
    ({ etcd }) => one(etcd.dbSize),
  ],
  [
    'fullest_volume_ratio',
    'How full the fullest volume of a cluster is.',
    ({ fullestVolumePercent: percent }) => one(percent === undefined ? undefined : percent / 100),
  ],
]

/**
 * Contract:
 * - Every pod of the operator tells the same, whether it leads or not: take `max by (cluster_namespace, cluster_name)`.
 * - The labels do not have the names `namespace` and `pod`, which a Prometheus gives to each target in Kubernetes.
 */
export function clusterLines(objects: readonly MeasuredObject[], nowMs: number): readonly string[] {
  const all = objects.toSorted(byName)
  const clusters = all.slice(0, CLUSTERS_MAX).map(measuredCluster)
  const families = FAMILIES.map(([name, help, samplesOf]) => ({
    name: `quarry_operator_cluster_${name}`,
    type: 'gauge' as const,
    help,
    samples: clusters.flatMap((cluster) => labelled(cluster, samplesOf(cluster, nowMs))),
  }))
  return [
    gauge('quarry_operator_clusters', 'Clusters that the operator looks after.', all.length),
    gauge(
      'quarry_operator_clusters_left_out',
      'Clusters without series of their own, because there are too many.',
      all.length - clusters.length,
    ),
    ...families,
  ].flatMap(familyLines)
}

function labelled(
  { namespace, name }: MeasuredCluster,
  samples: readonly Sample[],
): readonly Sample[] {
  const labels: Labels = { cluster_namespace: namespace, cluster_name: name }
  return samples.map((sample) => ({ labels: { ...labels, ...sample.labels }, value: sample.value }))
}

function byName(a: MeasuredObject, b: MeasuredObject): number {
  const [first, second] = [keyOf(a), keyOf(b)]
  if (first === second) return 0
  return first < second ? -1 : 1
}

function keyOf({ metadata: { namespace = '', name } }: MeasuredObject): string {
  return `${namespace}/${name}`
}

function isReady({ type, status }: { readonly type: string; readonly status: string }): boolean {
  return type === 'Ready' && status === 'True'
}

function one(value: number | undefined): readonly Sample[] {
  return value === undefined ? [] : [{ value }]
}

function ageOf(
  operation: string | undefined,
  sinceMs: number | undefined,
  nowMs: number,
): readonly Sample[] {
  if (operation === undefined || sinceMs === undefined) return []
  return [{ labels: { operation }, value: Math.max(0, nowMs - sinceMs) / 1000 }]
}
