import { expect } from 'chai'
import { clusterLines, CLUSTERS_MAX } from '../../../../operator/metrics/cluster-metrics.ts'
import { CLUSTER_CASES } from '../../../support/operator/cluster-cases.ts'
import { clusterObject, NOW_MS, statusOf } from '../../../support/operator/cluster-states.ts'
import { parseScrape } from '../../../support/servers/scraped-metrics.ts'

const CLUSTER = 'cluster_namespace="library",cluster_name="books"'

function samplesOf(name: string): readonly string[] {
  return clusterLines([CLUSTER_CASES[name]!().object], NOW_MS).filter(
    (line) => !line.startsWith('#'),
  )
}

const named = (name: string, at: number) => ({
  ...clusterObject(statusOf(3)),
  metadata: { ...clusterObject(undefined).metadata, name: `${name}-${at}` },
})

describe('the metrics of clusters', () => {
  it('tell phase, conditions, operation, counts and volumes of each', () => {
    const lines = samplesOf('scale-down blocked')

    expect(lines).to.include.members([
      'quarry_operator_clusters 1',
      'quarry_operator_clusters_left_out 0',
      `quarry_operator_cluster_ready{${CLUSTER}} 0`,
      `quarry_operator_cluster_phase{${CLUSTER},phase="Degraded"} 1`,
      `quarry_operator_cluster_condition{${CLUSTER},type="Progressing",status="False",reason="Blocked"} 1`,
      `quarry_operator_cluster_operation_seconds{${CLUSTER},operation="ScaleDown"} 11400`,
      `quarry_operator_cluster_operation_idle_seconds{${CLUSTER},operation="ScaleDown"} 3900`,
      `quarry_operator_cluster_nodes_desired{${CLUSTER}} 5`,
      `quarry_operator_cluster_nodes_ready{${CLUSTER}} 5`,
      `quarry_operator_cluster_nodes_updated{${CLUSTER}} 5`,
      `quarry_operator_cluster_etcd_members_desired{${CLUSTER}} 3`,
      `quarry_operator_cluster_etcd_members_ready{${CLUSTER}} 3`,
      `quarry_operator_cluster_etcd_database_bytes{${CLUSTER}} 50331648`,
      `quarry_operator_cluster_fullest_volume_ratio{${CLUSTER}} 0.35`,
      `quarry_operator_cluster_generations_behind{${CLUSTER}} 0`,
    ])
  })

  it('tell of a cluster at which no operator has looked that it is not ready, and no counts', () => {
    expect(samplesOf('not looked at')).to.deep.equal([
      'quarry_operator_clusters 1',
      'quarry_operator_clusters_left_out 0',
      `quarry_operator_cluster_ready{${CLUSTER}} 0`,
      `quarry_operator_cluster_generations_behind{${CLUSTER}} 1`,
    ])
  })

  it('have one series for each condition, and no more than thirty for a cluster', () => {
    for (const [name, cluster] of Object.entries(CLUSTER_CASES)) {
      const lines = clusterLines([cluster().object], NOW_MS).filter((line) =>
        line.includes(CLUSTER),
      )
      const types = lines.flatMap((line) => /type="(\w+)"/.exec(line)?.[1] ?? [])

      expect(new Set(types).size, name).to.equal(types.length)
      expect(lines.length, name).to.be.at.most(30)
    }
  })

  it('have series of the first clusters by name alone, and tell how many have none', () => {
    const many = Array.from({ length: CLUSTERS_MAX + 7 }, (_, at) => named('many', at))

    const lines = clusterLines(many.toReversed(), NOW_MS)

    expect(lines).to.include(`quarry_operator_clusters ${CLUSTERS_MAX + 7}`)
    expect(lines).to.include('quarry_operator_clusters_left_out 7')
    const ready = lines.filter((line) => line.startsWith('quarry_operator_cluster_ready{'))
    expect(ready).to.have.length(CLUSTERS_MAX)
    expect(lines).to.deep.equal(clusterLines(many, NOW_MS))
  })

  it('tell nothing of a cluster that is gone', () => {
    const lines = clusterLines([], NOW_MS).filter((line) => !line.startsWith('#'))

    expect(lines).to.deep.equal([
      'quarry_operator_clusters 0',
      'quarry_operator_clusters_left_out 0',
    ])
  })

  it('have no value of a label that a status can choose, and survive whatever it has', () => {
    const status = {
      phase: 'x"}\n1',
      conditions: [
        { type: 'Ready', status: 'True', reason: 'secret-value' },
        { type: 'Own', status: 'True', reason: 'Own' },
        7,
      ],
      operation: { type: 'Create', startedAt: 'yesterday', lastProgressAt: 7 },
      nodes: { desired: '3', ready: -1.5 },
      etcd: null,
      volumes: [{ usedPercent: 'all' }, null],
    }
    const lines = clusterLines([{ ...clusterObject(undefined), status }], NOW_MS)

    expect(lines.join('\n')).to.not.match(/secret-value|Own|yesterday|x"/)
    expect(() => parseScrape(lines.join('\n'))).to.not.throw()
  })
})
