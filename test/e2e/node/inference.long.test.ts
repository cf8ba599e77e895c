// An inference server beside a node: it serves, and when it cannot, the node serves without it.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { quarryImage } from '../support/quarry-image.ts'
import { manifest, SINGLE_NODE } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'
const POD = `${CLUSTER}-node-0`

describe('an inference server beside a node', function () {
  this.timeout(600_000)

  const namespace = useNamespace('node', import.meta.filename)
  let nodeImage = ''

  before('the operator, and a cluster with an inference server', async () => {
    await quarryImage(namespace().tier, 'quarry-inference')
    nodeImage = await installOperator(namespace())
    const nodes = { replicas: 1, storage: { size: '1Gi' } }
    const inference = { enabled: true, resources: { requests: { cpu: '100m' } } }
    await namespace().apply(manifest({ name: CLUSTER, spec: { ...SINGLE_NODE, nodes, inference } }))
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${CLUSTER}`])
  })
  after('the operator', () => uninstallOperator(namespace()))

  const quarry = (args: readonly string[], input = ''): Promise<string> =>
    namespace().kubectl(['exec', '-i', POD, '-c', 'quarry', '--', 'quarry', ...args], { input })
  const condition = (type: string) =>
    namespace().value('qsc', CLUSTER, `{.status.conditions[?(@.type=="${type}")].reason}`)
  const tells = (reason: string) =>
    eventually(
      `InferenceReady has the reason ${reason}`,
      () => condition('InferenceReady'),
      (now) => now === reason,
    )
  const edit = (inference: object) => {
    const patch = JSON.stringify({ spec: { inference } })
    return namespace().kubectl(['patch', 'qsc', CLUSTER, '--type=merge', '-p', patch])
  }
  const readyEndpoints = () =>
    namespace().kubectl([
      'get',
      'endpointslices',
      `--selector=kubernetes.io/service-name=${CLUSTER}`,
      '-o',
      'jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}',
    ])
  const podUID = () => namespace().value('pod', POD, '{.metadata.uid}')

  it('answers by meaning, in a namespace of the restricted level', async () => {
    await tells('ModelsLoaded')
    await quarry(['table', 'create', 'memos'])
    await quarry(['index', 'create', 'memos', 'meaning', '--field', 'text'])
    await quarry(['load', 'memos', '-'], '{"id":"tides","text":"tide tables for the coast"}\n')

    await eventually(
      'the document is found by its meaning',
      () => quarry(['query', 'memos', '--meaning', 'when does the sea rise']),
      (found) => found.includes('tides'),
    )
  })

  it('leaves its node in the Service when it cannot start, and tells so', async () => {
    const before = await podUID()

    // The image of nodes has no runtime for models: the server ends at once, each time.
    await edit({ image: nodeImage })
    await eventually('the pod is another one', podUID, (uid) => uid !== before)
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `pod/${POD}`])
    await eventually(
      'the server has failed again and again',
      () => namespace().kubectl(['logs', POD, '-c', 'inference']),
      (log) => log.split('another one is started').length > 3,
    )

    expect(await readyEndpoints()).to.equal(POD)
    expect(await quarry(['lookup', 'memos', 'tides'])).to.include('tide tables')
    await tells('SidecarsNotReady')
    expect(
      await namespace().value('pod', POD, '{.status.containerStatuses[*].restartCount}'),
    ).to.equal('0 0')
    await edit({ image: null })
    await tells('ModelsLoaded')
    // Its models may be loaded before the node beside it serves.
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${CLUSTER}`])
  })

  it('is started again where it was killed, without a restart of its container', async () => {
    const kill = `
for (const entry of require('node:fs').readdirSync('/proc')) {
  const pid = Number(entry)
  if (!(pid > 1) || pid === process.pid) continue
  const words = require('node:fs').readFileSync('/proc/' + pid + '/cmdline', 'utf8')
  if (words.includes('inference') && !words.includes('--supervise')) process.kill(pid, 'SIGKILL')
}`

    await namespace().kubectl(['exec', POD, '-c', 'inference', '--', 'node', '-e', kill])

    await eventually(
      'another server serves',
      () => namespace().kubectl(['logs', POD, '-c', 'inference']),
      (log) => {
        const [, afterwards = ''] = log.split('another one is started')
        return afterwards.includes('server serves')
      },
    )
    expect(await readyEndpoints()).to.equal(POD)
    expect(await condition('Ready')).to.equal('ClusterReady')
  })
})
