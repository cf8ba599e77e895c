// What happens to the etcd of a cluster under a load: nothing that was acknowledged is lost.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { useLoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

describe('the etcd of a cluster, when its members fail', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  const cluster = useLoadedCluster(namespace)

  after('nodes that take pods', () => cordon('uncordon'))

  const member = (ordinal: number) => `${cluster().name}-etcd-${ordinal}`
  const kill = (pods: readonly string[]) =>
    namespace().kubectl(['delete', 'pod', ...pods, '--grace-period=0', '--force'])
  const cordon = (verb: 'cordon' | 'uncordon') =>
    namespace().tier.kubectl([verb, '--selector=!quarry.dev/none'])

  it('gets a member back whose pod was deleted', async () => {
    const before = await cluster().podUIDs('etcd')

    await cluster().during('a pod of etcd deleted', async () => {
      await kill([member(1)])
      await eventually(
        'the pod is another one',
        () => cluster().podUIDs('etcd'),
        (uids) => uids.has(member(1)) && uids.get(member(1)) !== before.get(member(1)),
      )
      await namespace().kubectl(['wait', '--for=condition=Ready', `pod/${member(1)}`])
      await cluster().reaches('condition=EtcdReady')
    })
  })

  it('gets another member for one whose volume is lost', async () => {
    const idOf = (ordinal: number) =>
      cluster().status(`etcd.members[?(@.name=="${member(ordinal)}")].id`)
    const [lost, other] = [await idOf(2), await idOf(1)]

    await cluster().during('a volume of etcd lost', async () => {
      await namespace().kubectl(['delete', 'pvc', `data-${member(2)}`, '--wait=false'])
      await kill([member(2)])
      await eventually(
        'the member is another one',
        () => idOf(2),
        (id) => id !== '' && id !== lost,
      )
      await cluster().reaches('condition=EtcdReady')
    })

    expect(await idOf(1)).to.equal(other)
    expect(await cluster().status('etcd.ready')).to.equal('3')
  })

  it('loses its quorum without any restart, and has it again with the members that come back', async () => {
    const before = await cluster().podUIDs('node')

    await cluster().during('two of three members of etcd away', async () => {
      await cordon('cordon')
      await kill([member(0), member(1)])
      await cluster().told('EtcdReady', 'QuorumLost')
      const shown = await cluster().status('conditions[?(@.type=="Available")].reason')
      expect(shown).to.equal('QuorumLost')
      await cordon('uncordon')
      await cluster().reaches('condition=EtcdReady')
      await cluster().reaches('condition=Available')
    })

    expect(await cluster().podUIDs('node')).to.deep.equal(before)
    expect((await cluster().podUIDs('etcd')).size).to.equal(3)
  })

  it('keeps every document that was acknowledged', async () => {
    expect(await cluster().lost()).to.deep.equal([])
  })
})
