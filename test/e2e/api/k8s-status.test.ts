// `quarry k8s status` as a person types it, against a real API server.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { CLUSTER_CASES } from '../../support/operator/cluster-cases.ts'
import { failureOf } from '../../support/failure-of.ts'
import { ROOT } from '../support/helm.ts'
import { outputOf, ProgramFailure } from '../support/program.ts'
import { applyKinds, manifest, storedObject, StoreClusters } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const QUARRY = path.join(ROOT, 'bin/quarry')

describe('quarry k8s status', function () {
  this.timeout(300_000)

  const namespace = useNamespace('api', import.meta.filename)

  const status = (args: readonly string[], KUBECONFIG = namespace().tier.kubeconfig) =>
    outputOf([process.execPath, QUARRY, 'k8s', 'status', ...args], { env: { KUBECONFIG } })

  before(async () => {
    await applyKinds(namespace())
    const clusters = new StoreClusters(namespace())
    const stored = storedObject(await clusters.create(manifest({ name: 'books' })))
    const { object } = CLUSTER_CASES['etcd without quorum']!()
    storedObject(await clusters.writeStatus({ ...stored, status: object['status'] }))
    const uid = Object(stored['metadata']).uid
    await namespace().apply({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'books.quorum' },
      eventTime: '2026-11-27T05:00:00.000000Z',
      reportingController: 'quarry.dev/operator',
      reportingInstance: 'test',
      type: 'Warning',
      reason: 'QuorumLost',
      action: 'Reconcile',
      note: 'less than a majority of members answer',
      regarding: {
        apiVersion: 'quarry.dev/v1alpha1',
        kind: 'StoreCluster',
        namespace: namespace().name,
        name: 'books',
        uid,
      },
    })
  })

  it('shows what the API server has, with its events', async () => {
    const text = await status(['books', '-n', namespace().name])

    expect(text).to.match(
      new RegExp(`^● Degraded, store degraded\n  ${namespace().name}/books · context`),
    )
    expect(text).to.include('EtcdReady is False: QuorumLost')
    expect(text).to.include('QuorumLost: less than a majority of members answer')
  })

  it('says which clusters there are', async () => {
    const failure = await failureOf(status(['boks', '-n', namespace().name]))

    expect(stderrOf(failure)).to.match(/^error: no StoreCluster boks in .*; there are: books\n$/)
  })

  it('says so when its user may not see it', async () => {
    const token = await namespace().kubectl(['create', 'token', 'default'])
    const folder = await mkdtemp(path.join(tmpdir(), 'quarry-k8s-'))
    const kubeconfig = path.join(folder, 'config')
    try {
      await writeFile(kubeconfig, await readFile(namespace().tier.kubeconfig))
      const env = ['--kubeconfig', kubeconfig]
      await namespace().kubectl([...env, 'config', 'set-credentials', 'nobody', `--token=${token}`])
      await namespace().kubectl([...env, 'config', 'set-context', '--current', '--user=nobody'])

      const failure = await failureOf(status(['books', '-n', namespace().name], kubeconfig))

      expect(stderrOf(failure)).to.match(/^error: storeclusters\.quarry\.dev "books" is forbidden/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

function stderrOf(failure: unknown): string {
  if (failure instanceof ProgramFailure) return failure.stderr
  throw failure
}
