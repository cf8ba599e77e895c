// More members of etcd, and fewer, under a load: nothing that was acknowledged is lost.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { useLoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

describe('the etcd of a cluster, when it gets another size', function () {
  this.timeout(1_800_000)

  const namespace = useNamespace('node', import.meta.filename)
  const cluster = useLoadedCluster(namespace)

  it('gets two members more, and gives them back', async () => {
    const before = await cluster().podUIDs('etcd')
    const nodes = await cluster().podUIDs('node')
    for (const replicas of [5, 3]) {
      await cluster().during(`${replicas} members of etcd`, async () => {
        await cluster().edit({ etcd: { replicas } })
        await eventually(
          `there are ${replicas} pods of etcd`,
          () => cluster().podUIDs('etcd'),
          (pods) => pods.size === replicas,
        )
        await cluster().reaches(`jsonpath={.status.etcd.ready}=${replicas}`)
        await cluster().reaches('condition=EtcdReady')
      })
    }

    expect(await cluster().podUIDs('etcd')).to.deep.equal(before)
    expect(await cluster().podUIDs('node'), 'no node restarts').to.deep.equal(nodes)
  })

  it('keeps every document that was acknowledged', async () => {
    expect(await cluster().lost()).to.deep.equal([])
  })
})
