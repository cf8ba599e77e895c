// What the other tests of this tier rely on: nodes, volumes, names and closed ports are real.

import { expect } from 'chai'
import { failureOf } from '../../support/failure-of.ts'
import { eventually } from '../support/eventually.ts'
import { probeImage, probePod } from '../support/probe-image.ts'
import { useNamespace } from '../support/test-namespace.ts'

const PORT = 8000

describe('Kubernetes with nodes', function () {
  this.timeout(240_000)

  const namespace = useNamespace('node', import.meta.filename)
  let image = ''

  before(async () => {
    image = await probeImage(namespace().tier)
    const serve = `mkdir -p /tmp/www && echo served > /tmp/www/index.html && exec httpd -f -p ${PORT} -h /tmp/www`
    await namespace().apply([
      probePod({ image, name: 'server', labels: { app: 'server' }, command: ['sh', '-c', serve] }),
      probePod({ image, name: 'friend', labels: { app: 'friend' } }),
      probePod({ image, name: 'stranger', labels: { app: 'stranger' } }),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'server' },
        spec: { selector: { app: 'server' }, ports: [{ port: 80, targetPort: PORT }] },
      },
    ])
    const pods = ['pod/server', 'pod/friend', 'pod/stranger']
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=120s', ...pods])
  })

  const run = (pod: string, ...command: readonly string[]) =>
    namespace().kubectl(['exec', pod, '--', ...command])
  const askedBy = (pod: string) => run(pod, 'timeout', '5', 'wget', '-qO-', 'http://server/')

  it('has three ready nodes, each in a zone of its own', async () => {
    const ready = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}'
    const zones = String.raw`{range .items[*]}{.metadata.labels.topology\.kubernetes\.io/zone} {end}`
    const nodes = ['get', 'nodes', '-l', '!node-role.kubernetes.io/control-plane']
    const ask = async (jsonPath: string) =>
      (await namespace().tier.kubectl([...nodes, '-o', `jsonpath=${jsonPath}`])).trim().split(' ')

    expect(await ask(ready)).to.deep.equal(['True', 'True', 'True'])
    expect(new Set(await ask(zones)).size).to.equal(3)
  })

  it('provisions a claim for the first pod that uses it, and keeps its content', async () => {
    await namespace().apply([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'kept' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '64Mi' } } },
      },
      probePod({ image, name: 'writer', claim: 'kept' }),
    ])
    const ready = ['wait', '--for=condition=Ready', '--timeout=120s']
    await namespace().kubectl([...ready, 'pod/writer'])
    await run('writer', 'sh', '-c', 'echo kept > /data/value && sync')
    await namespace().kubectl(['delete', 'pod', 'writer'])

    await namespace().apply(probePod({ image, name: 'reader', claim: 'kept' }))
    await namespace().kubectl([...ready, 'pod/reader'])

    expect(await run('reader', 'cat', '/data/value')).to.equal('kept\n')
    expect(await namespace().value('pvc', 'kept', '{.status.phase}')).to.equal('Bound')
  })

  it('resolves the name of a Service', async () => {
    const name = `server.${namespace().name}.svc.cluster.local`
    const address = await namespace().value('service', 'server', '{.spec.clusterIP}')

    const said = await eventually(
      'the name is known',
      () => run('friend', 'nslookup', name),
      (answer) => answer.includes('Address'),
    )

    expect(said).to.include(address)
  })

  it('opens a port to those that a NetworkPolicy names, and to others as long as there is none', async () => {
    // First without the policy: a network that lets nobody through would keep the stranger out, too.
    expect(await askedBy('stranger')).to.equal('served\n')
    await namespace().apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'server' },
      spec: {
        podSelector: { matchLabels: { app: 'server' } },
        policyTypes: ['Ingress'],
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }] }],
      },
    })

    await eventually(
      'the stranger is kept out',
      () => failureOf(askedBy('stranger')),
      (failure) => failure !== undefined,
    )
    expect(await askedBy('friend')).to.equal('served\n')

    await namespace().kubectl(['delete', 'networkpolicy', 'server'])
    await eventually(
      'the stranger is let in again',
      () => askedBy('stranger'),
      (answer) => answer === 'served\n',
    )
  })
})
