// How Prometheus finds the metrics of a cluster: a kind of its operator, which not every Kubernetes cluster has.

import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { objectNames, PORT_NAMES } from '../parts/names.ts'
import { withoutOwned } from '../parts/pods.ts'

/** None unless it is wanted and the kind exists. */
export function podMonitors({ cluster, decided }: ClusterInput) {
  const { enabled, intervalSeconds, labels } = cluster.spec.monitoring.podMonitor
  if (!enabled || !decided.hasPodMonitors) return []
  const { health, inferenceHealth, etcdMetrics } = PORT_NAMES
  // A pod has some of the ports, and is read at those.
  const endpoints = [health, inferenceHealth, etcdMetrics].map((port) => ({
    interval: `${intervalSeconds}s`,
    path: '/metrics',
    port,
  }))
  return [
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PodMonitor',
      metadata: metadataOf(cluster, objectNames(cluster.name).podMonitor, {
        labels: withoutOwned(labels),
      }),
      spec: {
        podMetricsEndpoints: endpoints,
        selector: {
          matchLabels: {
            'app.kubernetes.io/instance': cluster.name,
            'app.kubernetes.io/name': 'quarry',
          },
        },
      },
    },
  ]
}
