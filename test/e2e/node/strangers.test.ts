// Who reaches which port of a cluster: its NetworkPolicies, as a network enforces them.

import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { installOperator, uninstallOperator } from '../support/installed-operator.ts'
import { probePod } from '../support/probe-image.ts'
import { useNamespace } from '../support/test-namespace.ts'

const CLUSTER = 'notes'
const PORTS = { api: 8080, peers: 7400, etcdClients: 2379, etcdPeers: 2380 } as const
type Door = keyof typeof PORTS
type Doors = Readonly<Record<Door, string>>

const EVERY_DOOR: Doors = { api: 'open', peers: 'open', etcdClients: 'open', etcdPeers: 'open' }
const CLIENTS_DOOR: Doors = {
  ...EVERY_DOOR,
  peers: 'silent',
  etcdClients: 'silent',
  etcdPeers: 'silent',
}
const NO_DOOR: Doors = { ...CLIENTS_DOOR, api: 'silent' }

/** In a container: what becomes of a connection. A policy drops what it does not let in. */
const CONNECT = (host: string, port: number) => `
const { connect } = require('node:net')
const tell = (what) => { console.log(what); process.exit() }
connect(${port}, '${host}')
  .setTimeout(2000, () => tell('silent'))
  .on('connect', () => tell('open'))
  .on('error', ({ code }) => tell(code))
`

describe('the ports of a cluster', function () {
  this.timeout(300_000)

  const namespace = useNamespace('node', import.meta.filename)

  before('the operator, a cluster, and two pods beside it', async function () {
    this.timeout(600_000)
    const image = await installOperator(namespace())
    const command = ['node', '-e', 'setInterval(() => {}, 1e6)']
    await namespace().apply([
      cluster({ enabled: false }),
      probePod({ image, name: 'friend', labels: { app: 'friend' }, command }),
      probePod({ image, name: 'stranger', labels: { app: 'stranger' }, command }),
    ])
    await ready()
    const pods = ['pod/friend', 'pod/stranger']
    await namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=120s', ...pods])
  })
  after('the operator', () => uninstallOperator(namespace()))

  const ready = () =>
    namespace().kubectl(['wait', '--for=condition=Ready', '--timeout=180s', `qsc/${CLUSTER}`])

  async function doorsFor(pod: string): Promise<Doors> {
    const { name } = namespace()
    const hostOf = (door: string) =>
      door.startsWith('etcd')
        ? `${CLUSTER}-etcd-0.${CLUSTER}-etcd.${name}.svc`
        : `${CLUSTER}-node-0.${CLUSTER}-nodes.${name}.svc`
    const connected = Object.entries(PORTS).map(async ([door, port]) => {
      const script = CONNECT(hostOf(door), port)
      const said = await namespace().kubectl(['exec', pod, '--', 'node', '-e', script])
      return [door, said.trim()] as const
    })
    return { ...EVERY_DOOR, ...Object.fromEntries(await Promise.all(connected)) }
  }

  const becomes = (pod: string, expected: Doors) =>
    eventually(
      `${pod} finds ${JSON.stringify(expected)}`,
      () => doorsFor(pod),
      (doors) => JSON.stringify(doors) === JSON.stringify(expected),
    )

  it('are all open without policies: what keeps a stranger out is not the network', async () => {
    expect(await doorsFor('stranger')).to.deep.equal(EVERY_DOOR)
  })

  it('are closed to pods beside it, but for that of clients', async () => {
    await namespace().apply(cluster({ enabled: true }))

    await becomes('stranger', CLIENTS_DOOR)
    await becomes('friend', CLIENTS_DOOR)
    await ready()
  })

  it('let in as clients those that the spec names, and nobody else', async () => {
    const clientFrom = [{ podSelector: { matchLabels: { app: 'friend' } } }]
    await namespace().apply(cluster({ enabled: true, clientFrom }))

    await becomes('stranger', NO_DOOR)
    await becomes('friend', CLIENTS_DOOR)
    await ready()
  })

  it('let the operator in, and the node to its etcd: the cluster is healthy behind them', async () => {
    const asked = await namespace().kubectl([
      'exec',
      `${CLUSTER}-node-0`,
      '--',
      'quarry',
      'table',
      'create',
      'books',
    ])

    expect(asked).to.include('books')
    expect(await namespace().value('qsc', CLUSTER, '{.status.health}')).to.equal('Healthy')
  })
})

function cluster(networkPolicy: object): object {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: { name: CLUSTER },
    spec: {
      nodes: { replicas: 1, storage: { size: '1Gi' } },
      etcd: { replicas: 1, storage: { size: '1Gi' } },
      inference: { enabled: false },
      networkPolicy,
    },
  }
}
