// A StoreCluster of three nodes with an etcd of its own, under a load that never pauses: nothing that was acknowledged is
// lost, whatever the operator does to the pods.

import { expect } from 'chai'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { LoadPod, type LoadReport } from '../support/load-pod.ts'
import { quarryImage } from '../support/quarry-image.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'books'
const TABLE = 'counted'

/** For people who read the test's output: the gaps are figures, not limits. */
const tell = (what: string, { longestGapMs, acknowledged: { length }, troubles }: LoadReport) => {
  const met = [...troubles].map(([line, count]) => `${count} × ${line}`).join('; ')
  process.stdout.write(`      ${what}: ${length} writes, longest gap ${longestGapMs} ms; ${met}\n`)
}

describe('a cluster of three nodes', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  let load: LoadPod | undefined
  const acknowledged: number[] = []

  before('the operator', async () => installOperator(namespace()))
  after('the load', async () => load?.[Symbol.asyncDispose]())
  after('the operator', () => uninstallOperator(namespace()))

  const wait = (...what: readonly string[]): Promise<string> =>
    namespace().kubectl(['wait', ...what, '--timeout=600s', `storecluster/${CLUSTER}`], {
      limitMs: 620_000,
    })
  /** Edits the spec, waits until the operator has seen the edit and is done, and tells what the load met meanwhile. */
  const change = async (spec: object): Promise<LoadReport> => {
    load?.forgetTimes().acknowledged.forEach((number) => acknowledged.push(number))
    const patch = ['patch', 'storecluster', CLUSTER, '--type=merge', '-p', JSON.stringify({ spec })]
    const edited = await namespace().kubectl([...patch, '-o', 'jsonpath={.metadata.generation}'])
    await wait(`--for=jsonpath={.status.observedGeneration}=${edited}`)
    await wait('--for=condition=Progressing=False')
    await wait('--for=condition=Ready')
    await load?.advances()
    const report = load?.report()
    if (report === undefined) throw new Error('no load')
    return report
  }
  const quarry = (...args: readonly string[]): Promise<string> =>
    namespace().kubectl(['exec', `${CLUSTER}-node-0`, '--', 'quarry', ...args])

  it('becomes ready, and takes writes through its Service', async () => {
    const image = await quarryImage(namespace().tier)
    const begunMs = Date.now()
    await namespace().apply(threeNodes())
    await wait('--for=condition=Ready')
    process.stdout.write(`      ready after ${Date.now() - begunMs} ms\n`)
    await quarry('table', 'create', TABLE, '--shards', '3')

    load = await LoadPod.start(namespace(), { image, service: CLUSTER, table: TABLE })
  })

  it('gets a node more', async () => {
    tell('scale-up', await change({ nodes: { replicas: 4 } }))

    expect(await namespace().value('storecluster', CLUSTER, '{.status.readyNodes}')).to.equal('4/4')
  })

  it('restarts one node after another', async () => {
    tell('restart', await change({ restartedAt: new Date().toISOString() }))
  })

  it('gives a node back, after its shards have moved', async () => {
    tell('scale-down', await change({ nodes: { replicas: 3 } }))

    expect(await namespace().value('storecluster', CLUSTER, '{.status.readyNodes}')).to.equal('3/3')
  })

  it('has every document that was acknowledged', async () => {
    load?.report().acknowledged.forEach((number) => acknowledged.push(number))
    await load?.[Symbol.asyncDispose]()
    load = undefined
    const lines = (await quarry('scan', TABLE)).split('\n').filter((line) => line !== '')
    const found = new Set(lines.map((line): number => JSON.parse(line).number))

    expect(acknowledged.length).to.be.greaterThan(100)
    expect(acknowledged.filter((number) => !found.has(number))).to.deep.equal([])
  })

  it('sleeps, and has them when it is awake again', async () => {
    await namespace().kubectl([
      'patch',
      'storecluster',
      CLUSTER,
      '--type=merge',
      '-p',
      '{"spec":{"hibernate":true}}',
    ])
    await wait('--for=jsonpath={.status.phase}=Hibernated')
    const pods = ['get', 'pods', '-l', `app.kubernetes.io/instance=${CLUSTER}`, '-o', 'name']
    expect(await namespace().kubectl(pods)).to.equal('')

    await namespace().kubectl([
      'patch',
      'storecluster',
      CLUSTER,
      '--type=merge',
      '-p',
      '{"spec":{"hibernate":false}}',
    ])
    await wait('--for=condition=Ready')

    const lines = (await quarry('scan', TABLE)).split('\n').filter((line) => line !== '')
    expect(lines.length).to.be.at.least(new Set(acknowledged).size)
  })
})

function threeNodes(): object {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: { name: CLUSTER },
    spec: {
      nodes: { replicas: 3, storage: { size: '1Gi' } },
      etcd: { storage: { size: '1Gi' } },
      inference: { enabled: false },
      updateStrategy: { minReadySeconds: 1 },
    },
  }
}
