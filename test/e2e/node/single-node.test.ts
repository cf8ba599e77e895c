// A StoreCluster of one node, from the manifest to a query and to the same documents after it was deleted and made again; and
// what becomes of it when its operator, its Kubernetes node or its namespace goes.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { installOperator, OPERATOR, uninstallOperator } from '../support/installed-operator.ts'
import { quarryImage } from '../support/quarry-image.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { TestNamespace, useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'
const POD = `${CLUSTER}-node-0`

describe('a cluster of one node', function () {
  this.timeout(300_000)

  const namespace = useNamespace('node', import.meta.filename)
  let other: TestNamespace
  before('the operator, and a second namespace', async function () {
    this.timeout(600_000)
    other = await TestNamespace.create(namespace().tier, 'single-node-other')
    await installOperator(namespace(), { watches: 'every namespace' })
  })
  after('the operator, and the second namespace', async () => {
    await uninstallOperator(namespace())
    const left = ['get', 'namespace', other.name, '--ignore-not-found', '-o', 'name']
    if ((await other.tier.kubectl(left)) !== '') await other.delete()
  })

  const create = async (where = namespace()): Promise<void> => {
    await where.apply(singleNode())
    await where.kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${CLUSTER}`])
  }
  const quarry = (args: readonly string[], input = ''): Promise<string> =>
    namespace().kubectl(['exec', '-i', POD, '--', 'quarry', ...args], { input })
  const podUID = () => namespace().value('pod', POD, '{.metadata.uid}')
  const condition = (type: string) =>
    namespace().value('qsc', CLUSTER, `{.status.conditions[?(@.type=="${type}")].status}`)

  it('becomes ready, and takes a document', async () => {
    await create()
    await quarry(['table', 'create', 'books'])
    await quarry(['load', 'books', '-'], '{"id":"book/1","title":"Sea charts"}\n')

    expect(await quarry(['lookup', 'books', 'book/1'])).to.include('Sea charts')
    const phase = await namespace().value('storecluster', CLUSTER, '{.status.phase}')
    expect(phase).to.equal('Running')
  })

  it('is deleted without its volume, which a cluster of the same name finds again', async () => {
    await namespace().kubectl(['delete', 'storecluster', CLUSTER, '--timeout=120s'])
    const pods = await namespace().kubectl([
      'get',
      'pods',
      '-l',
      `app.kubernetes.io/instance=${CLUSTER}`,
      '-o',
      'name',
    ])
    expect(pods).to.equal('')
    await create()

    expect(await quarry(['lookup', 'books', 'book/1'])).to.include('Sea charts')
  })

  it('lets its Kubernetes node be drained: no budget forbids it', async () => {
    const before = await podUID()

    await namespace().evict(POD)

    await eventually('the pod is another one', podUID, (uid) => uid !== before)
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `pod/${POD}`])
    expect(await quarry(['lookup', 'books', 'book/1'])).to.include('Sea charts')
  })

  it('keeps its pod when another operator comes, which looks after it', async () => {
    const before = await podUID()
    const image = await quarryImage(namespace().tier, 'quarry-next')
    const tag = image.slice(image.lastIndexOf(':') + 1)

    await installOperator(namespace(), {
      watches: 'every namespace',
      values: [`image.tag=${tag}`],
    })

    const images = await namespace().kubectl([
      'get',
      'deployment',
      OPERATOR,
      '-o',
      'jsonpath={.spec.template.spec.containers[*].image}',
    ])
    expect(images).to.equal(image)
    await namespace().kubectl(['annotate', 'qsc', CLUSTER, 'quarry.dev/paused=true'])
    await eventually(
      'the new operator has seen the cluster',
      () => condition('Paused'),
      (status) => status === 'True',
    )
    await namespace().kubectl(['annotate', 'qsc', CLUSTER, 'quarry.dev/paused-'])
    await eventually(
      'the new operator has work again',
      () => condition('Paused'),
      (status) => status === '',
    )
    expect(await condition('Progressing')).to.equal('False')
    expect(await podUID()).to.equal(before)
  })

  it('goes with its namespace', async function () {
    this.timeout(600_000)
    await create(other)

    // Without any help: the finalizer of the cluster is the operator's to take away. One whose rights are in the namespace
    // itself loses them first, as docs/how-to/install-operator.md says.
    // Kubernetes looks again at a namespace with pods after half of their grace, which is a minute each time.
    await other.tier.kubectl(['delete', 'namespace', other.name, '--timeout=400s'], {
      limitMs: 420_000,
    })
  })

  it('stays with its volume when the operator is removed, and serves', async () => {
    const before = await podUID()

    await uninstallOperator(namespace())

    const left = await namespace().kubectl(['get', 'qsc,pvc,statefulset', '-o', 'name'])
    expect(left.trim().split('\n')).to.have.members([
      `storecluster.quarry.dev/${CLUSTER}`,
      `persistentvolumeclaim/data-${POD}`,
      `statefulset.apps/${CLUSTER}-node`,
    ])
    expect(await podUID()).to.equal(before)
    expect(await quarry(['lookup', 'books', 'book/1'])).to.include('Sea charts')
  })
})

function singleNode(): object {
  const nodes = { replicas: 1, storage: { size: '1Gi' } }
  return manifest({ name: CLUSTER, spec: { ...SINGLE_NODE, nodes } })
}
