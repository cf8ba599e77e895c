import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import { clusterMetrics } from '../../../../../node/steering/metrics/cluster-metrics.ts'
import { ControlledCluster } from '../../../../../node/steering/controlled-cluster.ts'
import { TableRegistry } from '../../../../../node/catalog/tables/table-registry.ts'
import { SteeredCluster } from '../../../../support/fakes/steered-cluster.ts'

const COUNTS = {
  elections: 4,
  inSyncChanges: { added: 2, removed: 1 },
  snapshotBytes: { sent: 1000, received: 0 },
  lagMax: 17,
  comparisons: { equal: 5, different: 1, unknown: 0 },
  damaged: 1,
  peers: { idle: 0, connecting: 0, connected: 2, waiting: 0 },
}

function metricsOf(control: SteeredCluster, nodeId: string) {
  const cluster = new ControlledCluster({
    control,
    registry: new TableRegistry(),
    lags: control.lags,
    leftovers: control.leftovers,
    recover: control.recover,
    clock: systemClock,
  })
  return clusterMetrics({ cluster, nodeId, counts: () => COUNTS, clock: systemClock })
}

function never(): Promise<never> {
  return Promise.withResolvers<never>().promise
}

describe('the metrics of a cluster', () => {
  it('count nodes and shards by their state', async () => {
    const control = new SteeredCluster(['n1', 'n2', 'n3'])
    control.addShard('t/a', ['n1', 'n2', 'n3'])
    control.addShard('t/b', ['n1', 'n2'])

    const lines = await metricsOf(control, 'n1')()

    expect(lines).to.include.members([
      'quarry_cluster_nodes{condition="serving"} 3',
      'quarry_cluster_shards 2',
      'quarry_cluster_troubled_shards{trouble="under_replicated"} 1',
      'quarry_cluster_controller 1',
      'quarry_cluster_unchangeable 0',
      'quarry_cluster_replica_lag_entries 17',
      'quarry_cluster_elections_total 4',
      'quarry_cluster_in_sync_changes_total{change="removed"} 1',
      'quarry_cluster_snapshot_bytes_total{direction="sent"} 1000',
      'quarry_cluster_comparisons_total{outcome="different"} 1',
      'quarry_cluster_damaged_replicas_total 1',
      'quarry_cluster_peers{state="connected"} 2',
    ])
  })

  it('tell of this node alone while the control plane does not answer', async () => {
    const control = new SteeredCluster(['n1'])
    control.failure = new ServiceError('UNAVAILABLE', 'etcd does not answer')

    const lines = await metricsOf(control, 'n2')()

    expect(lines).to.include.members([
      'quarry_cluster_controller 0',
      'quarry_cluster_unchangeable 1',
      'quarry_cluster_elections_total 4',
    ])
    expect(lines.filter((line) => line.startsWith('quarry_cluster_shards'))).to.deep.equal([])
  })

  it('do not wait long for a control plane that hangs', async () => {
    const clock = new ManualClock()
    const read = clusterMetrics({
      cluster: { summary: never },
      nodeId: 'n1',
      counts: () => COUNTS,
      clock,
    })

    const lines = Promise.resolve(read())
    clock.advance(2000)

    expect(await lines).to.include.members([
      'quarry_cluster_unchangeable 1',
      'quarry_cluster_elections_total 4',
    ])
  })
})
