// The chart as an API server takes it, and what it lets its operator do. No pod runs here.

import { globSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { failureOf } from '../../support/failure-of.ts'
import { eventually } from '../support/eventually.ts'
import { CHART, helm, renderChart, ROOT } from '../support/helm.ts'
import { objectsIn, type RenderedObject } from '../support/manifests.ts'
import { useNamespace } from '../support/test-namespace.ts'

const OPERATOR = 'quarry-operator'
const DEPLOY = path.join(ROOT, 'deploy')
const PROFILES = ['', ...globSync(path.join(CHART, 'profiles/*.yaml')).toSorted()]

const valuesOf = (profile: string): readonly string[] =>
  profile === '' ? [] : [`--values=${profile}`]

describe('the installed chart', function () {
  this.timeout(240_000)

  const namespace = useNamespace('api', import.meta.filename)
  const helmHere = (...args: readonly string[]) =>
    helm(...args, `--namespace=${namespace().name}`, `--kubeconfig=${namespace().tier.kubeconfig}`)
  const install = (...args: readonly string[]) =>
    helmHere('upgrade', '--install', 'quarry', CHART, '--take-ownership', '--reset-values', ...args)
  const account = () => `system:serviceaccount:${namespace().name}:${OPERATOR}`
  const canI = async (...question: readonly string[]): Promise<boolean> => {
    const asked = ['auth', 'can-i', ...question, `--as=${account()}`]
    // "no" ends with the code 1.
    return (await namespace().tier.kubectl(asked).catch(String)).trim().endsWith('yes')
  }

  /** The authorizer of the API server learns of roles by a watch. */
  const becomes = (expected: boolean, ...question: readonly string[]): Promise<boolean> =>
    eventually(
      question.join(' '),
      () => canI(...question),
      (answer) => answer === expected,
    )

  after(() => helmHere('uninstall', 'quarry', '--ignore-not-found'))

  it('is taken by the API server with each profile, and its pods are of the restricted level', async () => {
    for (const profile of PROFILES) {
      const objects = objectsIn(await renderChart('--set=crds.install=false', ...valuesOf(profile)))
      const pods = objects.flatMap(podOf)
      for (const pod of pods) {
        const input = JSON.stringify(pod)
        await namespace().kubectl(['create', '--dry-run=server', '-f', '-'], { input })
      }
      expect(pods.length, profile).to.equal(2)
    }
  })

  it('is taken as plain manifests by kubectl, without Helm', async () => {
    const objects = objectsIn(await namespace().tier.kubectl(['kustomize', DEPLOY]))
    // Into a namespace that is there: those of a dry run are not.
    const placed = objects
      .filter(({ kind }) => kind !== 'Namespace')
      .map(({ metadata, ...object }) => ({
        ...object,
        metadata:
          metadata.namespace === undefined
            ? metadata
            : { ...metadata, namespace: namespace().name },
      }))
    const input = placed.map((object) => JSON.stringify(object)).join('\n---\n')

    const dryRun = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-']
    const said = await namespace().tier.kubectl(dryRun, { input })

    expect(said.trim().split('\n')).to.have.length(placed.length)
    expect(said).to.include('deployment.apps/quarry-operator serverside-applied')
    expect(said).to.include(
      'customresourcedefinition.apiextensions.k8s.io/storeclusters.quarry.dev',
    )
  })

  it('lets the operator do its work in its namespaces, and nothing elsewhere', async () => {
    await install(`--set=watchNamespaces={${namespace().name}}`, '--set=rbac.clusterReads=false')
    const here = `--namespace=${namespace().name}`

    await becomes(true, 'patch', 'storeclusters.quarry.dev/status', here)
    expect(await canI('delete', 'statefulsets.apps', here)).to.equal(true)
    expect(await canI('get', 'secrets', here)).to.equal(true)
    expect(await canI('update', 'leases.coordination.k8s.io', here)).to.equal(true)
    expect(await canI('list', 'secrets', here)).to.equal(false)
    expect(await canI('create', 'pods/exec', here)).to.equal(false)
    expect(await canI('get', 'secrets', '--namespace=default')).to.equal(false)
    expect(await canI('get', 'storeclusters.quarry.dev', '--namespace=default')).to.equal(false)
    expect(await canI('list', 'nodes')).to.equal(false)
  })

  it('changes its scope by an upgrade', async () => {
    await install()

    await becomes(true, 'get', 'secrets', '--namespace=default')
    expect(await canI('list', 'secrets', '--namespace=default')).to.equal(false)
    expect(await canI('watch', 'storeclusters.quarry.dev', '--all-namespaces')).to.equal(true)
    expect(await canI('list', 'nodes')).to.equal(true)
    expect(await canI('update', 'leases.coordination.k8s.io', '--namespace=default')).to.equal(
      false,
    )
  })

  it('has samples that the API server takes', async () => {
    for (const sample of globSync(path.join(CHART, 'samples/*.yaml'))) {
      await namespace().kubectl(['apply', '--server-side', '--dry-run=server', '-f', sample])
    }
  })

  it('keeps a protected cluster from being deleted, until it is not protected', async () => {
    const remove = () => namespace().kubectl(['delete', 'storecluster', 'kept'])
    await namespace().apply(protectedCluster(true))

    const refused = await failureOf(remove())
    await namespace().apply(protectedCluster(false))
    await remove()

    expect(String(refused)).to.include('spec.deletionProtection is true')
  })

  it('leaves the kind when it is removed', async () => {
    await helmHere('uninstall', 'quarry')

    const kind = ['get', 'crd', 'storeclusters.quarry.dev', '-o', 'name']
    expect(await namespace().tier.kubectl(kind)).to.include('storeclusters.quarry.dev')
    await becomes(false, 'get', 'secrets', '--namespace=default')
  })
})

function protectedCluster(deletionProtection: boolean): object {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: { name: 'kept' },
    spec: {
      mode: 'SingleNode',
      nodes: { replicas: 1, storage: { size: '1Gi' } },
      deletionProtection,
    },
  }
}

/** The pod that a rendered object makes, by itself or from its template. */
function podOf({ kind, metadata, spec }: RenderedObject): readonly object[] {
  if (kind === 'Pod') {
    return [{ apiVersion: 'v1', kind, metadata: { name: metadata.name }, spec: accountless(spec) }]
  }
  if (kind !== 'Deployment') return []
  const template = Object.entries(spec ?? {}).find(([key]) => key === 'template')?.[1]
  const pod = JSON.parse(JSON.stringify(template))
  const name = metadata.name
  return [{ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: accountless(pod.spec) }]
}

/** A pod with the namespace's own account: those of the chart are not there. */
function accountless(spec: unknown): object {
  return {
    ...JSON.parse(JSON.stringify(spec)),
    serviceAccountName: 'default',
    priorityClassName: '',
  }
}
