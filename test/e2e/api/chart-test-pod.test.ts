// What `helm test` runs in a pod, as a process here: its account has the rights of the pod, the kind is the real one, the
// store a real one beside it, and the test does what an operator would.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { failureOf } from '../../support/failure-of.ts'
import { StoreProcess } from '../../support/processes/store-process.ts'
import { eventually } from '../support/eventually.ts'
import { CHART, renderChart } from '../support/helm.ts'
import { outputOf } from '../support/program.ts'
import { applyKinds } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'
import { parseYaml } from '../../support/yaml.ts'

const NAME = 'quarry-operator-test'

describe('the pod of helm test', function () {
  this.timeout(240_000)

  const namespace = useNamespace('api', import.meta.filename)
  let directory = ''
  let store: StoreProcess | undefined

  before(async () => {
    await applyKinds(namespace())
    const watched = `--set=watchNamespaces={${namespace().name}}`
    const template = 'templates/tests/single-node.yaml'
    const rendered = await renderChart(watched, `--show-only=${template}`)
    const rights = rendered.split(/^---$/m).filter((part) => !part.includes('kind: Pod'))
    await namespace().kubectl(['apply', '-f', '-'], { input: rights.join('---\n') })

    directory = await mkdtemp(path.join(tmpdir(), 'quarry-helm-test-'))
    store = await StoreProcess.start({ dataDir: path.join(directory, 'store') })
    const token = await namespace().kubectl(['create', 'token', NAME])
    await writeFile(path.join(directory, 'token'), token)
  })

  after(async () => {
    await store?.[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  })

  /** The program of the pod, with the variables of the pod. */
  async function run(seconds: number): Promise<string> {
    const config = parseYaml(
      await namespace().tier.kubectl(['config', 'view', '--raw', '--flatten']),
    )
    const [{ cluster }] = config.clusters
    const authority = path.join(directory, 'ca.crt')
    await writeFile(authority, Buffer.from(cluster['certificate-authority-data'], 'base64'))
    return outputOf([process.execPath, path.join(CHART, 'files/helm-test.mjs')], {
      env: {
        NODE_EXTRA_CA_CERTS: authority,
        TEST_API_SERVER: cluster.server,
        TEST_STORE_URL: new URL(must(store, 'the store').api).origin,
        TEST_TOKEN_FILE: path.join(directory, 'token'),
        TEST_NAMESPACE: namespace().name,
        TEST_CLUSTER: NAME,
        TEST_TIMEOUT_SECONDS: String(seconds),
        TEST_STORAGE: '1Gi',
        TEST_STORAGE_CLASS: '',
      },
    })
  }

  const isThere = async (): Promise<boolean> =>
    (await namespace().kubectl(['get', 'storeclusters', '-o', 'name'])).includes(NAME)

  it('waits for a cluster that is ready, writes, reads, and removes it', async () => {
    const ended = run(120)
    await eventually('the cluster is made', isThere, (there) => there)
    const condition = {
      type: 'Ready',
      status: 'True',
      reason: 'ClusterReady',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const patch = JSON.stringify({ status: { conditions: [condition] } })
    const status = ['patch', 'storecluster', NAME, '--subresource=status', '--type=merge']
    await namespace().kubectl([...status, '-p', patch])

    expect(await ended).to.include('a document was written and read')
    expect(await isThere()).to.equal(false)
  })

  it('tells what it waited for, and leaves no cluster', async () => {
    const failure = await failureOf(run(3))

    expect(String(failure)).to.include('ready: not within 3 s; at last: no condition')
    expect(await isThere()).to.equal(false)
  })
})
