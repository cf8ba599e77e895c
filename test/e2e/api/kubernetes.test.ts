// What the other tests of this tier rely on: the API server answers, checks, merges and records as a real one does.

import { expect } from 'chai'
import { failureOf } from '../../support/failure-of.ts'
import { AuditLog, describeEvent, isBy, isWrite } from '../support/audit-log.ts'
import { eventually } from '../support/eventually.ts'
import { served } from '../support/served-kind.ts'
import { useNamespace } from '../support/test-namespace.ts'

const READY = 'ok'

describe('Kubernetes without nodes', () => {
  const namespace = useNamespace('api', import.meta.filename)
  /** A group of this run alone, so that runs side by side do not share the kind. */
  const group = () => `${namespace().name}.quarry.test`
  const crd = () => `probes.${group()}`

  before(async () => {
    await namespace().apply(probeKind(group()))
    await served(namespace().tier, crd())
  })

  after(() => namespace().tier.kubectl(['delete', 'crd', crd(), '--wait=false']))

  const probe = (spec: object) => ({
    apiVersion: `${group()}/v1`,
    kind: 'Probe',
    metadata: { name: 'one' },
    spec,
  })

  it('answers', async () => {
    expect(await namespace().tier.kubectl(['get', '--raw=/readyz'])).to.equal(READY)
  })

  it('fills in defaults and refuses what a CEL rule refuses', async () => {
    await namespace().apply(probe({ storage: '1Gi' }))

    const refused = await failureOf(namespace().apply(probe({ replicas: 2, storage: '1Gi' })))
    const shrunk = await failureOf(namespace().apply(probe({ storage: '512Mi' })))

    expect(await namespace().value(crd(), 'one', '{.spec.replicas}')).to.equal('3')
    expect(String(refused)).to.include('replicas must be odd')
    expect(String(shrunk)).to.include('storage cannot shrink')
  })

  it('keeps the status apart from the spec', async () => {
    const status = '{"status":{"phase":"Ready"}}'
    await namespace().kubectl(['patch', crd(), 'one', '--type=merge', '-p', status])
    expect(await namespace().value(crd(), 'one', '{.status.phase}')).to.equal('')

    const patch = ['patch', crd(), 'one', '--type=merge', '--subresource=status', '-p', status]
    await namespace().kubectl(patch)

    expect(await namespace().value(crd(), 'one', '{.status.phase}')).to.equal('Ready')
  })

  it('knows which manager of a server-side apply owns a field', async () => {
    const refused = await failureOf(
      namespace().apply(probe({ replicas: 5, storage: '2Gi' }), 'another'),
    )

    expect(String(refused)).to.include('conflict')
  })

  it('writes nothing when the same apply comes again', async () => {
    const version = () => namespace().value(crd(), 'one', '{.metadata.resourceVersion}')
    const before = await version()

    await namespace().apply(probe({ storage: '1Gi' }))

    expect(await version()).to.equal(before)
  })

  it('refuses a pod that the restricted level does not allow', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'privileged' },
      spec: {
        containers: [{ name: 'main', image: 'none', securityContext: { privileged: true } }],
      },
    }

    const refused = await failureOf(namespace().apply(pod))

    expect(String(refused)).to.include('violates PodSecurity "restricted:latest"')
  })

  it('lets a service account do what its role says, and nothing else', async () => {
    const account = `system:serviceaccount:${namespace().name}:reader`
    const kubectl = (...args: readonly string[]) => namespace().kubectl(args)
    await kubectl('create', 'serviceaccount', 'reader')
    await kubectl('create', 'role', 'reader', '--verb=get,list', `--resource=${crd()}`)
    await kubectl(
      'create',
      'rolebinding',
      'reader',
      '--role=reader',
      `--serviceaccount=${namespace().name}:reader`,
    )

    await eventually(
      'the role counts',
      () => kubectl('get', crd(), '-o', 'name', `--as=${account}`),
      (names) => names.includes('one'),
    )
    const refused = await failureOf(kubectl('delete', crd(), 'one', `--as=${account}`))

    expect(String(refused)).to.include('Forbidden')
  })

  it('collects what a deleted owner leaves', async () => {
    await namespace().apply(configMap('owner', {}))
    const uid = await namespace().value('configmap', 'owner', '{.metadata.uid}')
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
    await namespace().apply(configMap('owned', { ownerReferences }))

    await namespace().kubectl(['delete', 'configmap', 'owner'])

    await namespace().kubectl(['wait', '--for=delete', 'configmap/owned', '--timeout=60s'])
  })

  it('records who wrote what, so that silence can be proved', async function () {
    const { auditLog } = namespace().tier
    // Another cluster may keep its record to itself; the tests that need one then say so.
    expect(auditLog, 'QUARRY_E2E_AUDIT_LOG').to.be.a('string')
    const log = new AuditLog(auditLog ?? '')
    const account = `system:serviceaccount:${namespace().name}:reader`
    const mark = await log.mark()

    await namespace().kubectl(['get', crd(), 'one', `--as=${account}`])
    const patch = ['patch', crd(), 'one', '--type=merge', '-p', '{}', `--as=${account}`]
    await failureOf(namespace().kubectl(patch))

    const events = (await log.since(mark)).filter((event) => isBy(event, account))
    const object = `${group()}/probes ${namespace().name}/one`
    // kubectl reads what it patches.
    expect(events.map(describeEvent)).to.deep.equal([
      `get ${object}`,
      `get ${object}`,
      `patch ${object}`,
    ])
    expect(events.filter(isWrite).map(({ responseStatus }) => responseStatus?.code)).to.deep.equal([
      403,
    ])
  })
})

function configMap(name: string, metadata: object): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata } }
}

function probeKind(group: string): object {
  const spec = {
    type: 'object',
    required: ['storage'],
    properties: {
      replicas: { type: 'integer', minimum: 1, default: 3 },
      storage: { type: 'string' },
    },
    'x-kubernetes-validations': [
      { rule: 'self.replicas % 2 == 1', message: 'replicas must be odd' },
      {
        rule: 'quantity(self.storage).compareTo(quantity(oldSelf.storage)) >= 0',
        message: 'storage cannot shrink',
      },
    ],
  }
  const status = { type: 'object', properties: { phase: { type: 'string' } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `probes.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Probe', plural: 'probes' },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }],
    },
  }
}
