// A cluster as Prometheus text: what the control plane says of all, which every node tells alike, and what
// this node has done.

import {
  counter,
  familyLines,
  gauge,
  samplesBy,
  type MetricFamily,
  type MetricSource,
} from '../../../lib/metrics.ts'
import type { ClusterService } from './cluster-service.ts'

/** What this node counts for its own replicas, since its start. */
export interface ClusterCounts {
  /** Leaderships that it has taken over. */
  readonly elections: number
  /** Changes of the in-sync sets of shards that it leads. */
  readonly inSyncChanges: { readonly added: number; readonly removed: number }
  readonly snapshotBytes: { readonly sent: number; readonly received: number }
  /** The log entries that the slowest follower of a shard that it leads lacks. */
  readonly lagMax: number
}

/** Where the metrics come from. */
export interface ClusterMetricsOptions {
  readonly cluster: Pick<ClusterService, 'summary'>
  readonly nodeId: string
  readonly counts: () => ClusterCounts
}

/** While the control plane does not answer, what it would say is left out, and the rest is told. */
export function clusterMetrics({ cluster, nodeId, counts }: ClusterMetricsOptions): MetricSource {
  return async () => {
    const { controller, nodes, shards, moves, waiting, problem } = await cluster.summary()
    const { total, ...troubles } = shards
    const ofAll: readonly MetricFamily[] = [
      {
        name: 'quarry_cluster_nodes',
        type: 'gauge',
        help: 'Nodes of the cluster by condition; the replicas of lost ones are replaced.',
        samples: samplesBy('condition', nodes),
      },
      gauge('quarry_cluster_shards', 'Shards of all tables of the cluster.', total),
      {
        name: 'quarry_cluster_troubled_shards',
        type: 'gauge',
        help: 'Shards with a trouble, each by its worst one.',
        samples: samplesBy('trouble', troubles),
      },
      gauge('quarry_cluster_moves', 'Replicas on their way to another node.', moves),
      gauge(
        'quarry_cluster_waiting_shards',
        'Shards for which something should be done that cannot be done now; 100 at most.',
        waiting.length,
      ),
    ]
    const shown = problem === undefined ? ofAll : []
    const own = ownFamilies(counts(), { isController: controller === nodeId, problem })
    return [...shown, ...own].flatMap(familyLines)
  }
}

function ownFamilies(
  { elections, inSyncChanges, snapshotBytes, lagMax }: ClusterCounts,
  {
    isController,
    problem,
  }: { readonly isController: boolean; readonly problem: string | undefined },
): readonly MetricFamily[] {
  return [
    gauge(
      'quarry_cluster_controller',
      '1 on the node that decides about placement.',
      isController ? 1 : 0,
    ),
    gauge(
      'quarry_cluster_unchangeable',
      '1 while nothing in the cluster can be changed, as when etcd does not answer.',
      problem === undefined ? 0 : 1,
    ),
    gauge(
      'quarry_cluster_replica_lag_entries',
      'Log entries that the slowest follower of a shard led here lacks.',
      lagMax,
    ),
    counter('quarry_cluster_elections_total', 'Leaderships that the node took over.', elections),
    {
      name: 'quarry_cluster_in_sync_changes_total',
      type: 'counter',
      help: 'Changes of in-sync sets of shards led here.',
      samples: samplesBy('change', inSyncChanges),
    },
    {
      name: 'quarry_cluster_snapshot_bytes_total',
      type: 'counter',
      help: 'Bytes of snapshots of replicas, by direction.',
      samples: samplesBy('direction', snapshotBytes),
    },
  ]
}
