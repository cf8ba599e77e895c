// A volume that fills: it grows by itself as far as the spec lets it, and a full one is told of until people ask for more.

import { expect } from 'chai'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'
const POD = `${CLUSTER}-node-0`
const CLAIM = `data-${POD}`
/** Volumes grow when what is known of them is two minutes old. */
const GROWTH = '--timeout=420s'

/** In a container: fills its volume up to a percentage, with something that is not a document. */
const FILL = (percent: number) => `
const fs = require('node:fs')
const file = fs.openSync('/var/lib/quarry/filler', 'a')
const chunk = Buffer.alloc(2 ** 20)
const left = () => {
  const { blocks, bfree } = fs.statfsSync('/var/lib/quarry')
  return bfree / blocks
}
try {
  while (left() > ${1 - percent / 100}) fs.writeSync(file, chunk)
} catch (error) {
  if (error.code !== 'ENOSPC') throw error
}
fs.fsyncSync(file)
`

describe('the volume of a cluster that fills', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  const quarry = (args: readonly string[], input = ''): Promise<string> =>
    namespace().kubectl(['exec', '-i', POD, '--', 'quarry', ...args], { input })
  const load = (id: string) => quarry(['load', 'books', '-'], `{"id":"${id}","title":"Charts"}\n`)
  const fill = (percent: number) =>
    namespace().kubectl(['exec', POD, '--', 'node', '-e', FILL(percent)])
  const uid = () => namespace().value('pod', POD, '{.metadata.uid}')
  const grownTo = (size: string) =>
    namespace().kubectl(
      ['wait', `--for=jsonpath={.status.capacity.storage}=${size}`, `pvc/${CLAIM}`, GROWTH],
      { limitMs: 440_000 },
    )
  /** A cluster that serves is looked at each minute, and tells of its disk as it was a minute ago at most. */
  const told = async (reason: string) => {
    const degraded = `{.status.conditions[?(@.type=="Degraded")].reason}`
    const wait = ['wait', `--for=jsonpath=${degraded}=${reason}`, `qsc/${CLUSTER}`, GROWTH]
    await namespace().kubectl(wait, { limitMs: 440_000 })
  }

  before('the operator, and a cluster with a document', async () => {
    await installOperator(namespace())
    await namespace().apply(singleNode())
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${CLUSTER}`])
    await quarry(['table', 'create', 'books'])
    await load('first')
  })
  after('the operator', () => uninstallOperator(namespace()))

  it('grows by itself, under the pod that there is, up to the largest size', async () => {
    const before = await uid()

    await fill(90)
    await grownTo('2Gi')

    expect(await uid()).to.equal(before)
    expect(await namespace().value('qsc', CLUSTER, '{.spec.nodes.storage.size}')).to.equal('1Gi')
  })

  it('is told of when it is full, also after a start over it, and takes writes as soon as it is larger', async () => {
    await fill(100)
    const refused = await load('second').catch(String)
    await told('DiskNearlyFull')
    await namespace().kubectl(['delete', 'pod', POD])
    await namespace().kubectl(['wait', '--for=create', '--timeout=60s', `pod/${POD}`])

    const storage = { size: '3Gi', autoGrow: { maxSize: '3Gi' } }
    const merge = JSON.stringify({ spec: { nodes: { storage } } })
    await namespace().kubectl(['patch', 'qsc', CLUSTER, '--type=merge', '-p', merge])
    await grownTo('3Gi')
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `pod/${POD}`])
    await load('third')

    expect(refused).to.match(/disk/i)
    expect(await quarry(['lookup', 'books', 'first'])).to.include('Charts')
    expect(await quarry(['lookup', 'books', 'third'])).to.include('Charts')
  })
})

function singleNode(): object {
  const autoGrow = { enabled: true, thresholdPercent: 85, increment: '1Gi', maxSize: '2Gi' }
  const nodes = { replicas: 1, storage: { size: '1Gi', autoGrow } }
  return manifest({ name: CLUSTER, spec: { ...SINGLE_NODE, nodes } })
}
