// A StoreCluster of one node, from the manifest to a query and to the same documents after it was deleted and made again.

import { expect } from 'chai'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'

describe('a cluster of one node', function () {
  this.timeout(300_000)

  const namespace = useNamespace('node', import.meta.filename)

  before('the operator', async function () {
    this.timeout(600_000)
    await installOperator(namespace())
  })
  after('the operator', () => uninstallOperator(namespace()))

  const create = async (): Promise<void> => {
    await namespace().apply(singleNode())
    const ready = ['wait', '--for=condition=Ready', '--timeout=180s', `storecluster/${CLUSTER}`]
    await namespace().kubectl(ready)
  }
  const quarry = (args: readonly string[], input = ''): Promise<string> =>
    namespace().kubectl(['exec', '-i', `${CLUSTER}-node-0`, '--', 'quarry', ...args], {
      input,
    })

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
})

function singleNode(): object {
  const nodes = { replicas: 1, storage: { size: '1Gi' } }
  return manifest({ name: CLUSTER, spec: { ...SINGLE_NODE, nodes } })
}
