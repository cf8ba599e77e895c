// A StoreCluster of three nodes with an etcd of its own, under a load that never pauses: nothing that was acknowledged is
// lost, whatever the operator does to the pods.

import { expect } from 'chai'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { LoadedCluster } from '../support/loaded-cluster.ts'
import { useNamespace } from '../support/test-namespace.ts'

describe('a cluster of three nodes', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  let cluster: LoadedCluster

  before('the operator', async () => {
    const image = await installOperator(namespace())
    cluster = new LoadedCluster(namespace(), image)
  })
  after('the load', () => cluster[Symbol.asyncDispose]())
  after('the operator', () => uninstallOperator(namespace()))

  it('becomes ready, and takes writes through its Service', async () => {
    await cluster.create()

    await cluster.load()
  })

  it('gets a node more', async () => {
    await cluster.during('scale-up', () => cluster.edit({ nodes: { replicas: 4 } }))

    expect(await cluster.status('readyNodes')).to.equal('4/4')
  })

  it('restarts one node after another', async () => {
    const before = await cluster.podUIDs('node')
    const restartedAt = new Date().toISOString()

    await cluster.during('restart', () => cluster.edit({ restartedAt }))

    const after = await cluster.podUIDs('node')
    expect([...after.keys()]).to.deep.equal([...before.keys()])
    expect([...after].filter(([pod, uid]) => before.get(pod) === uid)).to.deep.equal([])
  })

  it('gives a node back, after its shards have moved', async () => {
    await cluster.during('scale-down', () => cluster.edit({ nodes: { replicas: 3 } }))

    expect(await cluster.status('readyNodes')).to.equal('3/3')
  })

  let documents = 0
  it('has every document that was acknowledged', async () => {
    expect(await cluster.lost()).to.deep.equal([])
    documents = (await cluster.found()).size
    expect(documents).to.be.greaterThan(100)
  })

  it('sleeps, and has them when it is awake again', async () => {
    await cluster.edit({ hibernate: true })
    await cluster.reaches('jsonpath={.status.phase}=Hibernated')
    const pods = ['get', 'pods', '-l', `app.kubernetes.io/instance=${cluster.name}`, '-o', 'name']
    expect(await namespace().kubectl(pods)).to.equal('')

    await cluster.edit({ hibernate: false })
    await cluster.reaches('condition=Ready')

    expect((await cluster.found()).size).to.equal(documents)
  })
})
