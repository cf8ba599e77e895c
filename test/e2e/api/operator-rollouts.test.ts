// Restarts of a cluster's pods that something disturbs, and of many clusters at once, under the whole operator. Pods, volumes,
// stores and etcds are stubs.

import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { eventually } from '../support/eventually.ts'
import { conditionOf } from '../support/operator/scene.ts'
import { imagesOf } from '../support/operator/stub-pod.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

/** As is the default of the operator. */
const ROLLOUTS_MAX = 2
const BROKEN = 'registry.example/quarry:broken'
const MENDED = 'registry.example/quarry:mended'

type UIDs = Readonly<Record<string, string>>

describe('the operator, over restarts that are disturbed', function () {
  this.timeout(300_000)

  const scene = useScene(import.meta.filename)
  const pods = (cluster: string) => scene().uids('Pod', cluster)
  const restart = (cluster: string, hour: number) =>
    scene().edit(cluster, { restartedAt: `2026-01-02T0${hour}:04:05Z` })

  afterEach(() => {
    scene().kubelet.held.clear()
    expect(scene().kubelet.broken).to.deep.equal([])
  })

  async function ready(name: string, spec: object): Promise<UIDs> {
    const updateStrategy = { minReadySeconds: 0 }
    await scene().apply(name, JSON.parse(JSON.stringify({ updateStrategy, ...spec })))
    await scene().ready(name)
    return pods(name)
  }

  async function replaced(names: readonly string[], before: UIDs): Promise<UIDs> {
    const [cluster = ''] = (names[0] ?? '').split('-')
    return eventually(
      `${names.join(', ')} are others`,
      () => pods(cluster),
      (now) => names.every((name) => isAnother(name, before, now)),
    )
  }

  async function nodeImages(cluster: string): Promise<readonly (string | undefined)[]> {
    const nodes = (await scene().list('Pod', cluster)).filter(({ metadata }) =>
      metadata.name.includes('-node-'),
    )
    return nodes.map((pod) => imagesOf(pod)[0])
  }

  it('stops at one pod whose image crashes, and goes straight to a third image', async () => {
    const before = await ready('plays', { nodes: { replicas: 3 } })
    scene().kubelet.badImages.add(BROKEN)

    await scene().edit('plays', { image: BROKEN })
    const stalled = await scene().becomes('plays', 'tells of the pod', (status) => {
      return conditionOf(status, 'Progressing')?.reason === 'Stalled'
    })
    await scene().looksAgain('plays')
    const during = await pods('plays')
    await scene().edit('plays', { image: MENDED })
    await replaced(['plays-node-0', 'plays-node-1', 'plays-node-2'], before)
    await scene().ready('plays', 3)

    expect(stalled.operation?.message).to.include('plays-node-2')
    for (const at of [0, 1]) {
      expect(during[`plays-node-${at}`]).to.equal(before[`plays-node-${at}`])
    }
    expect(await nodeImages('plays')).to.deep.equal([MENDED, MENDED, MENDED])
  })

  it('waits for a pod that somebody deletes meanwhile, and then continues', async () => {
    const { held } = scene().kubelet
    const before = await pods('plays')

    held.add('plays-node-2')
    await restart('plays', 1)
    await replaced(['plays-node-2'], before)
    held.add('plays-node-0')
    await scene().namespace.kubectl(['delete', 'pod', 'plays-node-0'])
    await replaced(['plays-node-0'], before)
    held.delete('plays-node-2')
    await scene().becomes('plays', 'is at the gate', ({ operation }) => {
      return operation?.phase === 'Gate' && operation.message?.includes('plays-node-0') === true
    })
    await scene().looksAgain('plays')
    const during = await pods('plays')
    held.clear()
    await replaced(['plays-node-1'], before)
    await scene().ready('plays', 3)

    expect(during['plays-node-1']).to.equal(before['plays-node-1'])
    const revisions = (await scene().list('Pod', 'plays'))
      .filter(({ metadata }) => metadata.name.includes('-node-'))
      .map(({ metadata }) => metadata.labels?.['controller-revision-hash'])
    expect(new Set(revisions).size).to.equal(1)
  })

  it('restarts the others beside one that is away only where the spec lets two be away', async () => {
    const { held } = scene().kubelet
    const names = [1, 2, 3, 4].map((at) => `poems-node-${at}`)
    const spec = { nodes: { replicas: 5 }, scaleUp: { maxConcurrent: 5 } }
    const before = await ready('poems', spec)
    const { store } = scene().kubelet.cluster('poems')
    const { members = [] } = await scene().status('poems')
    held.add('poems-node-0')
    await scene().namespace.kubectl(['delete', 'pod', 'poems-node-0'])
    await replaced(['poems-node-0'], before)
    // Others get its replicas; it would have no part in a restart otherwise.
    for (const { ordinal, nodeID } of members) if (ordinal === 0) store.model.lost.add(nodeID ?? '')

    await restart('poems', 1)
    await scene().becomes('poems', 'waits', ({ operation }) => operation?.phase === 'Gate')
    await scene().looksAgain('poems')
    const during = await pods('poems')
    let downMax = 0
    await scene().edit('poems', { updateStrategy: { maxUnavailable: 2 } })
    await eventually(
      'the others are restarted',
      async () => {
        const view = store.model.view(0)
        const nodes = view === 'unreachable' ? [] : view.nodes
        const down = nodes.filter(({ condition }) => condition !== 'serving').length
        downMax = Math.max(downMax, down)
        return pods('poems')
      },
      (now) => names.every((name) => isAnother(name, before, now)),
    )
    held.clear()
    await scene().ready('poems', 5)

    expect(names.filter((name) => during[name] !== before[name])).to.deep.equal([])
    expect(downMax).to.be.within(1, 2)
  })

  it('restarts two of five clusters at a time', async () => {
    const names = ['ada', 'bea', 'cia', 'dea', 'eva']
    const { held } = scene().kubelet
    const before: Record<string, string> = {}
    for (const one of await Promise.all(names.map((name) => ready(name, SINGLE_NODE)))) {
      Object.assign(before, one)
    }
    const others = async (): Promise<readonly string[]> => {
      const now = Object.assign({}, ...(await Promise.all(names.map(pods))))
      return names.filter((name) => isAnother(podOf(name), before, now))
    }
    for (const name of names) held.add(podOf(name))

    await Promise.all(names.map((name) => restart(name, 1)))
    const finished = new Set<string>()
    while (finished.size < names.length) {
      const wanted = Math.min(names.length, finished.size + ROLLOUTS_MAX)
      const begun = await eventually(
        `${wanted} clusters have another pod`,
        others,
        (now) => now.length >= wanted,
      )
      await Promise.all(names.map((name) => scene().looksAgain(name)))
      expect(await others()).to.have.members(begun)
      expect(begun.length - finished.size).to.be.at.most(ROLLOUTS_MAX)
      for (const name of begun) {
        held.delete(podOf(name))
        await scene().ready(name)
        finished.add(name)
      }
    }
  })

  it('tells of a class that cannot expand, and applies the rest of the spec', async () => {
    const { name: namespace, tier } = scene().namespace
    const name = `fixed-${namespace}`
    const group = 'storage.k8s.io'
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } }
    const rules = [{ apiGroups: [group], resources: ['storageclasses'], verbs: ['get', 'list'] }]
    const subjects = [{ kind: 'ServiceAccount', name: 'quarry-operator', namespace }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    const provisioner = 'kubernetes.io/no-provisioner'
    await scene().namespace.apply([
      { apiVersion: `${group}/v1`, kind: 'StorageClass', metadata: { name }, provisioner },
      { ...rbac, kind: 'ClusterRole', rules },
      { ...rbac, kind: 'ClusterRoleBinding', roleRef, subjects },
    ])
    try {
      const nodes = (size: string) => ({ replicas: 1, storage: { size, storageClassName: name } })
      const before = await ready('tales', { ...SINGLE_NODE, nodes: nodes('10Gi') })

      await scene().edit('tales', { nodes: nodes('20Gi'), logLevel: 'Debug' })
      const told = await scene().becomes('tales', 'tells of the class', (status) => {
        return conditionOf(status, 'StorageReady')?.status === 'False'
      })
      await replaced(['tales-node-0'], before)

      const condition = must(conditionOf(told, 'StorageReady'), 'the condition')
      expect(condition.reason).to.equal('ExpansionUnsupported')
      expect(condition.message).to.include('data-tales-node-0')
    } finally {
      const objects = ['storageclass', 'clusterrole', 'clusterrolebinding']
      for (const kind of objects) await tier.kubectl(['delete', kind, name])
    }
  })
})

function isAnother(name: string, before: UIDs, now: UIDs): boolean {
  return now[name] !== undefined && now[name] !== before[name]
}

function podOf(cluster: string): string {
  return `${cluster}-node-0`
}
