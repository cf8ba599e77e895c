// A cluster as Prometheus text: what the control plane says of all, which every node tells alike, and what
// this node has done.

import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import {
  counter,
  familyLines,
  gauge,
  samplesBy,
  type MetricFamily,
  type MetricSource,
} from '../../../lib/metrics.ts'
import type { LaneState } from '../../peer/peer.ts'
import type { ClusterSummary } from '../cluster-answers.ts'
import type { ClusterService } from '../cluster-service.ts'
import type { ComparisonOutcome } from '../../replicas/replica-counts.ts'

/** What this node counts for its own replicas, since its start. */
export interface ClusterCounts {
  /** Leaderships that it has taken over. */
  readonly elections: number
  /** Changes of the in-sync sets of shards that it leads. */
  readonly inSyncChanges: { readonly added: number; readonly removed: number }
  readonly snapshotBytes: { readonly sent: number; readonly received: number }
  /** The log entries that the slowest follower of a shard that it leads lacks. */
  readonly lagMax: number
  readonly comparisons: Readonly<Record<ComparisonOutcome, number>>
  /** Replicas here that could not be trusted any more. */
  readonly damaged: number
  /** Other nodes by the state of the connection to them. */
  readonly peers: Readonly<Record<PeerState, number>>
}

export type PeerState = Exclude<LaneState['kind'], 'closed'>

/** A scrape does not wait longer for what the control plane says. */
const SUMMARY_MS = 2000

/** Where the metrics come from. */
export interface ClusterMetricsOptions {
  readonly cluster: Pick<ClusterService, 'summary'>
  readonly nodeId: string
  readonly counts: () => ClusterCounts
  readonly clock: Clock
}

/** While the control plane does not answer, what it would say is left out, and the rest is told. */
export function clusterMetrics(options: ClusterMetricsOptions): MetricSource {
  const { cluster, nodeId, counts, clock } = options
  return async () => {
    const summary = await answerWithin(cluster.summary(), { clock, ms: SUMMARY_MS })
    const isController = summary?.controller === nodeId
    const isUnchangeable = summary === undefined || summary.problem !== undefined
    const shown = summary === undefined || isUnchangeable ? [] : familiesOfAll(summary)
    const isFrozen = summary?.frozen === true
    const own = ownFamilies(counts(), { isController, isUnchangeable, isFrozen })
    return [...shown, ...own].flatMap(familyLines)
  }
}

function familiesOfAll({ nodes, shards, moves, waiting }: ClusterSummary): readonly MetricFamily[] {
  const { total, ...troubles } = shards
  return [
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
}

function ownFamilies(
  counts: ClusterCounts,
  {
    isController,
    isUnchangeable,
    isFrozen,
  }: Record<'isController' | 'isUnchangeable' | 'isFrozen', boolean>,
): readonly MetricFamily[] {
  const { elections, inSyncChanges, snapshotBytes, lagMax, comparisons, damaged, peers } = counts
  return [
    gauge(
      'quarry_cluster_controller',
      '1 on the node that decides about placement.',
      isController ? 1 : 0,
    ),
    gauge(
      'quarry_cluster_unchangeable',
      '1 while nothing in the cluster can be changed, as when etcd does not answer.',
      isUnchangeable ? 1 : 0,
    ),
    gauge(
      'quarry_cluster_frozen',
      '1 while this node changes nothing, because its coordination store went back.',
      isFrozen ? 1 : 0,
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
    {
      name: 'quarry_cluster_comparisons_total',
      type: 'counter',
      help: 'Comparisons of followers with replicas led here, by what they showed.',
      samples: samplesBy('outcome', comparisons),
    },
    counter(
      'quarry_cluster_damaged_replicas_total',
      'Replicas of this node that were found damaged; each is built anew from another one.',
      damaged,
    ),
    {
      name: 'quarry_cluster_peers',
      type: 'gauge',
      help: 'Other nodes by the state of the connection to them.',
      samples: samplesBy('state', peers),
    },
  ]
}
