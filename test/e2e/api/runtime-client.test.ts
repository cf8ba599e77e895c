// The operator's way to the API, held to its suite against a real API server.

import { KubeConfig } from '@kubernetes/client-node'
import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { KubernetesClient } from '../../../operator/runtime/client/kubernetes-client.ts'
import { LeaderElection } from '../../../operator/runtime/election/leader-election.ts'
import { EventRecorder } from '../../../operator/runtime/events/event-recorder.ts'
import { describeKubernetesApi, widget } from '../../conformance/kubernetes-api.ts'
import { LEASES, WIDGETS } from '../../support/kubernetes/known-kinds.ts'
import { served } from '../support/served-kind.ts'
import { TestNamespace } from '../support/test-namespace.ts'
import { openTier, START_LIMIT_MS } from '../support/tier.ts'
import type { Tier } from '../support/tier.ts'

const CRD = `${WIDGETS.plural}.${WIDGETS.group}`
const FREE = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: CRD },
  spec: {
    group: WIDGETS.group,
    scope: 'Namespaced',
    names: { plural: WIDGETS.plural, kind: WIDGETS.kind },
    versions: [
      {
        name: WIDGETS.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: FREE, status: FREE } } },
      },
    ],
  },
}

describe('the API server of a cluster', () => {
  let tier: Tier | undefined
  const opened = () => tier ?? openTier('api')

  before(async function () {
    this.timeout(START_LIMIT_MS)
    tier = await openTier('api')
    const input = JSON.stringify(DEFINITION)
    await tier.kubectl(['apply', '--server-side', '-f', '-'], { input })
    await served(tier, CRD)
  })

  it('takes events and leases in the form that the operator writes', async () => {
    await using world = await openWorld()
    const { api, namespace } = world
    const parts = { api, clock: systemClock, log: silentLog }
    const lease = { kind: LEASES, namespace, name: 'operator' }
    const random = seededRandom(1)
    const election = new LeaderElection({ ...parts, random, lease, identity: 'one' })
    const controller = 'quarry.dev/operator'
    const events = new EventRecorder({
      ...parts,
      controller,
      instance: 'operator-0',
      secrets: () => [],
    })
    const object = await api.create(
      WIDGETS,
      widget(namespace, 'a', {}),
      new AbortController().signal,
    )

    election.start()
    await election.won
    await election.release()
    for (const note of ['3 nodes', '3 nodes', '4 nodes']) {
      events.record(object, { type: 'Normal', reason: 'Scaled', action: 'Scale', note })
    }
    await events.flushed()

    expect(events.figures).to.deep.equal({ sent: 3, dropped: 0 })
    expect(election.state).to.equal('released')
  })

  describeKubernetesApi('KubernetesClient', openWorld)

  async function openWorld() {
    const { kubeconfig } = await opened()
    const config = new KubeConfig()
    config.loadFromFile(kubeconfig)
    const namespace = await TestNamespace.create(await opened(), 'runtime')
    const api = new KubernetesClient(config, systemClock)
    return {
      api,
      namespace: namespace.name,
      async [Symbol.asyncDispose]() {
        await api[Symbol.asyncDispose]()
        const args = ['delete', 'namespace', namespace.name, '--wait=false']
        await namespace.tier.kubectl(args)
      },
    }
  }
})
