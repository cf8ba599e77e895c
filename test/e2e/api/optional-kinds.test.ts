// A kind that Kubernetes comes to know while the operator runs.

import { expect } from 'chai'
import { POD_MONITOR_RULES } from '../../../operator/resources/permissions.ts'
import { eventually } from '../support/eventually.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

const CRD = 'podmonitors.monitoring.coreos.com'

describe('the operator, over a kind that is defined later', function () {
  this.timeout(240_000)

  const scene = useScene(import.meta.filename)
  const removeKind = () =>
    scene().namespace.tier.kubectl(['delete', 'crd', CRD, '--ignore-not-found'])

  before('nobody has defined it, and the operator may write its objects', async () => {
    await removeKind()
    const apiGroup = 'rbac.authorization.k8s.io'
    const metadata = { name: 'pod-monitors' }
    const subject = { kind: 'ServiceAccount', name: 'quarry-operator' }
    await scene().namespace.apply([
      { apiVersion: `${apiGroup}/v1`, kind: 'Role', metadata, rules: POD_MONITOR_RULES },
      {
        apiVersion: `${apiGroup}/v1`,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup, kind: 'Role', name: metadata.name },
        subjects: [{ ...subject, namespace: scene().namespace.name }],
      },
    ])
  })
  after('nobody else meets it', removeKind)

  it('makes its objects as soon as it is there, without a restart', async () => {
    await scene().apply('books', {
      ...SINGLE_NODE,
      monitoring: { podMonitor: { enabled: true, labels: { team: 'search' } } },
    })
    const before = await scene().ready('books')

    await scene().namespace.apply(podMonitors())
    await eventually(
      'the kind is served',
      () => scene().namespace.kubectl(['get', CRD]),
      () => true,
    )
    const wait = ['wait', '--for=create', `${CRD}/books`, '--timeout=180s']
    await scene().namespace.kubectl(wait, { limitMs: 200_000 })

    const label = await scene().namespace.value(CRD, 'books', '{.metadata.labels.team}')
    expect(label).to.equal('search')
    const after = await scene().ready('books')
    expect(after.members).to.deep.equal(before.members)
  })
})

/** As the Prometheus operator defines it, less the fields. */
function podMonitors(): object {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: CRD },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind: 'PodMonitor', plural: 'podmonitors', singular: 'podmonitor' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}
