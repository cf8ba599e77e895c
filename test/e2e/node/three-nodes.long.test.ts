// A StoreCluster of three nodes with an etcd of its own, under a load that never pauses: nothing that was acknowledged is
// lost, whatever the operator does to the pods.

import { expect } from 'chai'
import { ANNOTATIONS } from '../../../operator/resources/parts/names.ts'
import { AuditLog, describeEvent, isWrite } from '../support/audit-log.ts'
import { eventually } from '../support/eventually.ts'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { LoadedCluster } from '../support/loaded-cluster.ts'
import { quarryImage } from '../support/quarry-image.ts'
import { useNamespace } from '../support/test-namespace.ts'

type UIDs = ReadonlyMap<string, string>

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

  /** None where a cluster that test/e2e/kube did not make keeps it to itself. */
  const auditLog = (): AuditLog | undefined => {
    const file = namespace().tier.auditLog
    return file === undefined ? undefined : new AuditLog(file)
  }
  const budgets = () => namespace().kubectl(['get', 'poddisruptionbudgets', '-o', 'name'])
  const claim = (ordinal: number) => `data-${cluster.name}-node-${ordinal}`
  const isMarked = async (ordinal: number): Promise<boolean> => {
    const annotations = await namespace().value('pvc', claim(ordinal), '{.metadata.annotations}')
    return Object.hasOwn(JSON.parse(annotations), ANNOTATIONS.drained)
  }

  it('becomes ready, and takes writes through its Service', async () => {
    await cluster.create()

    await cluster.load()
  })

  it('gets its budget back when somebody deletes it, and an event tells so', async () => {
    const name = `${cluster.name}-node`
    const told = () =>
      namespace().kubectl([
        'get',
        'events',
        `--field-selector=reason=ObjectsApplied,involvedObject.name=${cluster.name}`,
        '-o',
        'jsonpath={.items[*].message}',
      ])

    await namespace().kubectl(['delete', 'pdb', name])

    await namespace().kubectl(['wait', '--for=create', '--timeout=30s', `pdb/${name}`])
    await eventually('an event tells of the budget', told, (text) =>
      text.includes('PodDisruptionBudget'),
    )
  })

  it('gets two nodes more, which take replicas', async () => {
    await cluster.during('scale-up', () => cluster.scale(5))

    expect(await cluster.status('readyNodes')).to.equal('5/5')
    await holdReplicas()
  })

  const holdReplicas = () =>
    eventually(
      'the new nodes hold replicas',
      () => cluster.status('members[?(@.ordinal>2)].replicaCount'),
      (counts) => /^[1-9]\d* [1-9]\d*$/.test(counts),
    )

  it('goes to another image, one node after another', async () => {
    const image = await quarryImage(namespace().tier, 'quarry-next')
    const pods = await cluster.podUIDs('node')
    const claims = await cluster.claimUIDs('node')

    await cluster.during('another image', () => cluster.edit({ image }))

    const after = await cluster.podUIDs('node')
    expect([...after.keys()]).to.deep.equal([...pods.keys()])
    expect(unchanged(after, pods)).to.deep.equal([])
    expect(await cluster.claimUIDs('node')).to.deep.equal(claims)
    const images = await namespace().kubectl([
      'get',
      'pods',
      `--selector=app.kubernetes.io/instance=${cluster.name},app.kubernetes.io/component=node`,
      '-o',
      'jsonpath={.items[*].spec.containers[*].image}',
    ])
    expect(new Set(images.split(' '))).to.deep.equal(new Set([image]))
  })

  it('gives two nodes back, after their shards have moved, and marks their volumes', async () => {
    const record = auditLog()
    const mark = await record?.mark()

    await cluster.during('scale-down', () => cluster.scale(3))

    if (record !== undefined && mark !== undefined) {
      const writes = (await record.since(mark)).filter(isWrite).map(describeEvent)
      // A claim is marked when the store has confirmed that its node is empty, and only then the set loses a pod.
      const order = writes.flatMap((line) => {
        if (line.includes(`persistentvolumeclaims ${namespace().name}/data-`)) return ['mark']
        const isOfSet = line.endsWith(`statefulsets ${namespace().name}/${cluster.name}-node`)
        return isOfSet ? ['shrink'] : []
      })
      expect(order, writes.join('\n')).to.deep.equal(['mark', 'shrink', 'mark', 'shrink'])
    }

    expect(await cluster.status('readyNodes')).to.equal('3/3')
    const marked = await Promise.all([0, 1, 2, 3, 4].map(isMarked))
    expect(marked).to.deep.equal([false, false, false, true, true])
    const nodes = (await cluster.quarry('cluster', 'nodes', '--json')).trim().split('\n')
    expect(nodes).to.have.length(3)
  })

  it('gets two nodes again, over new volumes where a node had left', async () => {
    const before = await cluster.claimUIDs('node')

    await cluster.during('scale-up again', () => cluster.scale(5))

    const after = await cluster.claimUIDs('node')
    expect(unchanged(after, before)).to.deep.equal([0, 1, 2].map(claim))
    expect([...after.keys()]).to.deep.equal([...before.keys()])
    await holdReplicas()
  })

  it('sleeps under the load, and is awake again with its volumes and its budget', async () => {
    const claims = await cluster.claimUIDs('node')
    const before = await budgets()

    await cluster.during('sleep', async () => {
      await cluster.edit({ hibernate: true })
      await cluster.reaches('jsonpath={.status.phase}=Hibernated')
      const pods = ['get', 'pods', '-l', `app.kubernetes.io/instance=${cluster.name}`, '-o', 'name']
      expect(await namespace().kubectl(pods)).to.equal('')
      expect(await budgets()).to.not.include(`${cluster.name}-node`)
      await cluster.edit({ hibernate: false })
    })

    expect(await cluster.claimUIDs('node')).to.deep.equal(claims)
    expect(await budgets()).to.equal(before)
  })

  it('has every document that was acknowledged', async () => {
    expect(await cluster.lost()).to.deep.equal([])
  })
})

/** The names that have the same UID as before. */
function unchanged(after: UIDs, before: UIDs): readonly string[] {
  return [...after].filter(([name, uid]) => before.get(name) === uid).map(([name]) => name)
}
