// The operator's way to the API, held to its suite against a real API server.

import { KubeConfig } from '@kubernetes/client-node'
import { systemClock } from '../../../lib/clock.ts'
import { KubernetesClient } from '../../../operator/runtime/client/kubernetes-client.ts'
import { describeKubernetesApi } from '../../conformance/kubernetes-api.ts'
import { WIDGETS } from '../../support/kubernetes/known-kinds.ts'
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
    await tier.kubectl(['wait', '--for=condition=Established', `crd/${CRD}`])
  })

  describeKubernetesApi('KubernetesClient', async () => {
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
  })
})
