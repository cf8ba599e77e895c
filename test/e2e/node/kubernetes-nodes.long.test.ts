// A node of Kubernetes that is drained, and one that has no power, under a load: nothing that was acknowledged is lost.

import path from 'node:path'
import { expect } from 'chai'
import { failureOf } from '../../support/failure-of.ts'
import { eventually } from '../support/eventually.ts'
import { useLoadedCluster } from '../support/loaded-cluster.ts'
import { outputOf } from '../support/program.ts'
import { useNamespace } from '../support/test-namespace.ts'
import { KUBE, otherKubeconfig } from '../support/tier.ts'

describe('a cluster whose Kubernetes nodes go away', function () {
  this.timeout(900_000)

  const namespace = useNamespace('node', import.meta.filename)
  const cluster = useLoadedCluster(namespace)
  let away = ''

  before('where its nodes are', async () => {
    away = await cluster().placeOf(`${cluster().name}-node-1`)
  })

  const drain = (node: string, ...flags: readonly string[]) =>
    namespace().tier.kubectl([
      'drain',
      node,
      `--pod-selector=app.kubernetes.io/instance=${cluster().name}`,
      '--delete-emptydir-data',
      ...flags,
    ])

  it('has a node in each zone', async () => {
    const zones = (await cluster().status('members[*].zone')).split(' ')

    expect(new Set(zones).size).to.equal(3)
  })

  it('lets one be drained, and no second one beside it', async () => {
    const second = await cluster().placeOf(`${cluster().name}-node-2`)
    try {
      await cluster().during('a planned drain', async () => {
        await drain(away, '--timeout=150s')
        const refusal = await failureOf(drain(second, '--timeout=5s'))
        expect(String(refusal)).to.include("violate the pod's disruption budget")
        await namespace().tier.kubectl(['uncordon', away, second])
        const pods = ['pod', '-l', `app.kubernetes.io/instance=${cluster().name}`]
        await namespace().kubectl(['wait', '--for=condition=Ready', ...pods, '--timeout=120s'])
      })
    } finally {
      await namespace().tier.kubectl(['uncordon', away, second])
    }
  })

  // Only the nodes of test/e2e/kube can lose their power.
  const itOwn = otherKubeconfig() === undefined ? it : undefined
  itOwn?.('tells of one that has no power, and is whole when that is back', async () => {
    try {
      await cluster().during('a node without power', async () => {
        await power('stop', away)
        await cluster().reaches('condition=Degraded')
        await cluster().told('Degraded', 'NodeLost')
        await power('start', away)
        await cluster().reaches('condition=EtcdReady')
      })
    } finally {
      await power('start', away)
    }
  })

  itOwn?.('continues a restart that a node without power has held up', async () => {
    const before = await cluster().podUIDs('node')
    try {
      await cluster().during('a node without power during a restart', async () => {
        await cluster().edit({ restartedAt: new Date().toISOString() })
        await cluster().reaches('jsonpath={.status.operation.phase}=WaitReady')
        await power('stop', away)
        await eventually(
          'the restart waits for the pod that is away',
          () => cluster().status('operation.message'),
          (message) => message === `not ready: ${cluster().name}-node-1`,
        )
        await cluster().reaches('condition=Degraded')
        expect(await cluster().status('operation.type')).to.equal('Restart')
        await power('start', away)
      })
    } finally {
      await power('start', away)
    }

    const after = await cluster().podUIDs('node')
    expect([...after.keys()]).to.deep.equal([...before.keys()])
    expect([...after].filter(([pod, uid]) => before.get(pod) === uid)).to.deep.equal([])
  })

  it('has every document that was acknowledged', async () => {
    expect(await cluster().lost()).to.deep.equal([])
  })
})

function power(verb: 'start' | 'stop', node: string): Promise<string> {
  return outputOf([path.join(KUBE, 'node'), verb, node])
}
