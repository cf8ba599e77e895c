import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { describeSharedElections } from '../conformance/shared-elections.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { until } from '../support/until.ts'

// etcd as it is shipped: the limit of operations in a transaction is its default.
describeSharedElections('etcd', async () => {
  const etcd = await EtcdCluster.start({ members: 1 })
  const coordination = await openEtcdCoordination({
    endpoints: etcd.directEndpoints,
    cluster: 'library',
    owner: 'n2',
    clock: systemClock,
    random: seededRandom(1),
  })
  return {
    coordination,
    clock: systemClock,
    until,
    [Symbol.asyncDispose]: async () => {
      await coordination.close()
      await etcd[Symbol.asyncDispose]()
    },
  }
})
