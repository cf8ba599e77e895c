// What people do to a cluster by hand: its objects deleted or changed, its names taken, its annotations, its spec.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'
/** Its name begins as that of the other one, and so do the names of its objects. */
const NEIGHBOUR = 'notes-2'

describe('a cluster in the hands of people', function () {
  this.timeout(300_000)

  const namespace = useNamespace('node', import.meta.filename)

  before('the operator, and two clusters', async function () {
    this.timeout(600_000)
    await installOperator(namespace())
    await namespace().apply([singleNode(CLUSTER), singleNode(NEIGHBOUR)])
    await ready(CLUSTER)
    await ready(NEIGHBOUR)
  })
  after('the operator', () => uninstallOperator(namespace()))

  const ready = (cluster: string) =>
    namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${cluster}`])
  const uid = (kind: string, name: string) => namespace().value(kind, name, '{.metadata.uid}')
  const patch = (what: string, merge: object) =>
    namespace().kubectl(['patch', what, '--type=merge', '-p', JSON.stringify(merge)])
  const condition = (cluster: string, type: string) =>
    namespace().value('qsc', cluster, `{.status.conditions[?(@.type=="${type}")].reason}`)
  const has = (cluster: string, type: string, reason: string) =>
    eventually(
      `${type} has the reason ${reason}`,
      () => condition(cluster, type),
      (now) => now === reason,
    )

  it('gets its objects back, and their content', async () => {
    const pod = await uid('pod', `${CLUSTER}-node-0`)
    const objects = [
      `service/${CLUSTER}`,
      `configmap/${CLUSTER}-config`,
      `networkpolicy/${CLUSTER}-node`,
    ]

    await namespace().kubectl(['delete', ...objects])
    await patch(`service/${CLUSTER}-nodes`, { spec: { publishNotReadyAddresses: false } })
    await namespace().kubectl(['scale', `statefulset/${CLUSTER}-node`, '--replicas=0'])

    await namespace().kubectl(['wait', '--for=create', '--timeout=30s', ...objects])
    await eventually(
      'the other Service is as it was',
      () => namespace().value('service', `${CLUSTER}-nodes`, '{.spec.publishNotReadyAddresses}'),
      (value) => value === 'true',
    )
    await eventually(
      'the set has its pod again',
      () => namespace().value('statefulset', `${CLUSTER}-node`, '{.spec.replicas}'),
      (value) => value === '1',
    )
    await eventually(
      'the pod is another one',
      () => uid('pod', `${CLUSTER}-node-0`),
      (value) => value !== pod,
    )
    await namespace().kubectl(['wait', '--for=condition=Ready', `pod/${CLUSTER}-node-0`])
    await ready(CLUSTER)
  })

  it('changes nothing while it is paused, and then what was asked for', async () => {
    const pod = await uid('pod', `${CLUSTER}-node-0`)
    const paused = (value: string) =>
      namespace().kubectl(['annotate', `qsc/${CLUSTER}`, `quarry.dev/paused${value}`])

    await paused('=true')
    await has(CLUSTER, 'Paused', 'PausedByAnnotation')
    await patch(`qsc/${CLUSTER}`, { spec: { logLevel: 'Debug' } })
    await has(CLUSTER, 'Ready', 'Paused')
    expect(await uid('pod', `${CLUSTER}-node-0`)).to.equal(pod)

    await paused('-')
    await eventually(
      'the pod is another one',
      () => uid('pod', `${CLUSTER}-node-0`),
      (value) => value !== pod,
    )
    await namespace().kubectl(['wait', '--for=condition=Ready', `pod/${CLUSTER}-node-0`])
    await ready(CLUSTER)
  })

  it('stays as it is under a version that cannot follow its own, until the spec is mended', async () => {
    const pod = await uid('pod', `${CLUSTER}-node-0`)

    await patch(`qsc/${CLUSTER}`, { spec: { version: '9.0.0' } })
    await eventually(
      'the spec is not valid',
      () =>
        namespace().value('qsc', CLUSTER, '{.status.conditions[?(@.type=="SpecValid")].status}'),
      (status) => status === 'False',
    )
    expect(await uid('pod', `${CLUSTER}-node-0`)).to.equal(pod)

    await patch(`qsc/${CLUSTER}`, { spec: { version: null } })
    await has(CLUSTER, 'SpecValid', 'Valid')
    await ready(CLUSTER)
    expect(await uid('pod', `${CLUSTER}-node-0`)).to.equal(pod)
  })

  it('takes no object of others that has a name it needs', async () => {
    const ports = [{ port: 80 }]
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'taken' } }
    await namespace().apply({ ...service, spec: { selector: { app: 'other' }, ports } })

    await namespace().apply(singleNode('taken'))
    await has('taken', 'SpecValid', 'NameConflict')

    const found = await namespace().value(
      'service',
      'taken',
      '{.spec.selector} {.metadata.ownerReferences}',
    )
    expect(found.trim()).to.equal('{"app":"other"}')
    await namespace().kubectl(['delete', 'service', 'taken'])
    await ready('taken')
  })

  it('is deleted with its volumes where the spec says so, and without those of a neighbour', async () => {
    const others = await uid('pvc', `data-${NEIGHBOUR}-node-0`)
    const policy = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } }
    await patch(`qsc/${CLUSTER}`, { spec: policy })

    await namespace().kubectl(['delete', 'qsc', CLUSTER, '--timeout=120s'])

    const own = `pvc/data-${CLUSTER}-node-0`
    await namespace().kubectl(['wait', '--for=delete', own, '--timeout=60s'])
    expect(await uid('pvc', `data-${NEIGHBOUR}-node-0`)).to.equal(others)
    expect(await condition(NEIGHBOUR, 'Ready')).to.equal('ClusterReady')
  })
})

function singleNode(name: string): object {
  const nodes = { replicas: 1, storage: { size: '1Gi' } }
  return manifest({ name, spec: { ...SINGLE_NODE, nodes } })
}
