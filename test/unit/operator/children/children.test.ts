import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { childrenOf } from '../../../../operator/children/children.ts'
import type { Children } from '../../../../operator/children/children.ts'
import { liveChildren, refNamed } from '../../../../operator/children/live-children.ts'
import type { ClusterInput } from '../../../../operator/resources/parts/cluster-input.ts'
import { metadataOf } from '../../../../operator/resources/parts/metadata.ts'
import type { ApiObject, StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import { Applier } from '../../../../operator/runtime/writes/applier.ts'
import { FakeKubernetes } from '../../../support/kubernetes/fake-kubernetes.ts'
import { CLUSTER_SHAPES } from '../../../support/operator/cluster-shapes.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'
import type { InputOptions } from '../../../support/operator/cluster-inputs.ts'
import { fakeKind, OPERATOR_KINDS } from '../../../support/operator/operator-kinds.ts'

const { signal } = new AbortController()
const WRITTEN = { nodes: { storage: { size: '10Gi' } } }
const NO_SECRETS = { outdated: [], foreign: [] }
const QUIET = { outdated: [], surplus: [], foreign: [] }
const ALL = [
  'ServiceAccount/books',
  'ConfigMap/books-config',
  'Service/books-nodes',
  'Service/books',
  'NetworkPolicy/books-node',
  'PodDisruptionBudget/books-node',
  'ConfigMap/books-etcd',
  'Service/books-etcd',
  'NetworkPolicy/books-etcd',
  'PodDisruptionBudget/books-etcd',
]

/** An operator beside a fake API server, whose caches have what carries the operator's label. */
class World {
  readonly api = new FakeKubernetes(new ManualClock(), OPERATOR_KINDS)
  applier = new Applier(this.api)

  async view(input: ClusterInput): Promise<Children> {
    const { namespace } = input.cluster
    const labelSelector = 'app.kubernetes.io/name=quarry'
    const cached = OPERATOR_KINDS.flatMap((kind) =>
      this.api.store.select({ kind, namespace, labelSelector }),
    )
    const live = await liveChildren(this.api, { input, cached }, signal)
    return childrenOf({ input, live, secrets: NO_SECRETS, applier: this.applier })
  }

  /** Makes what is outdated, and answers what is told after it. */
  async applied(input: ClusterInput): Promise<Children> {
    const { wishes, outdated } = await this.view(input)
    for (const [name, wish] of wishes) {
      if (outdated.includes(name)) await this.applier.apply(wish, signal)
    }
    return this.view(input)
  }

  merge(name: string, value: unknown): Promise<StoredObject> {
    const ref = refNamed(name, 'shop')
    return this.api.patch({ ref, patch: { type: 'merge', value }, part: 'object' }, signal)
  }

  create(object: ApiObject): Promise<StoredObject> {
    return this.api.create(fakeKind(object.kind), object, signal)
  }

  writes(): number {
    return this.api.requests.filter(({ verb }) => !['get', 'list'].includes(verb)).length
  }
}

const viewed = ({ outdated, surplus, foreign }: Children) => ({ outdated, surplus, foreign })
const books = (options: InputOptions = {}) => inputOf(WRITTEN, options)

describe('the children of a cluster', () => {
  it('are outdated while they are absent, in the order in which they are applied', async () => {
    expect(viewed(await new World().view(books()))).to.deep.equal({ ...QUIET, outdated: ALL })
  })

  for (const [shape, input] of Object.entries(CLUSTER_SHAPES)) {
    it(`are not outdated, surplus or foreign once applied: ${shape}`, async () => {
      expect(viewed(await new World().applied(input))).to.deep.equal(QUIET)
    })
  }

  it('are applied once by a new process, which changes nothing and is quiet from then on', async () => {
    const world = new World()
    await world.applied(books())
    const { version } = world.api.store
    world.applier = new Applier(world.api)

    const first = await world.view(books())
    const second = await world.applied(books())
    const writes = world.writes()
    const third = await world.applied(books())

    expect(first.outdated).to.deep.equal(ALL)
    expect(viewed(second)).to.deep.equal(QUIET)
    expect(viewed(third)).to.deep.equal(QUIET)
    expect(world.writes()).to.equal(writes)
    expect(world.api.store.version).to.equal(version)
  })

  it('are read from the caches alone while none is missing', async () => {
    const world = new World()
    await world.applied(books())
    for (const name of ['StatefulSet/books-node', 'StatefulSet/books-etcd']) {
      await world.create(ownSet(name))
    }
    const { length } = world.api.requests

    await world.view(books())

    expect(world.api.requests.slice(length)).to.deep.equal([])
  })

  const edits: Readonly<Record<string, readonly [name: string, value: object]>> = {
    'a spec': ['Service/books', { spec: { type: 'NodePort' } }],
    'a content without a generation': ['ConfigMap/books-config', { data: { 'quarry.yaml': 'x' } }],
    'a label': [
      'NetworkPolicy/books-node',
      { metadata: { labels: { 'app.kubernetes.io/part-of': 'x' } } },
    ],
    'the label of the caches': [
      'Service/books',
      { metadata: { labels: { 'app.kubernetes.io/name': null } } },
    ],
  }
  for (const [what, [name, value]] of Object.entries(edits)) {
    it(`are outdated when somebody has changed ${what}, until they are applied again`, async () => {
      const world = new World()
      await world.applied(books())
      await world.merge(name, value)

      const changed = await world.view(books())

      expect(viewed(changed)).to.deep.equal({ ...QUIET, outdated: [name] })
      expect(viewed(await world.applied(books()))).to.deep.equal(QUIET)
    })
  }

  it('are outdated when the spec asks for something else', async () => {
    const world = new World()
    await world.applied(books())
    const other = inputOf({ ...WRITTEN, clientService: { port: 80 } })

    expect(viewed(await world.view(other))).to.deep.equal({ ...QUIET, outdated: ['Service/books'] })
  })

  it('are left alone while they are on their way out, and made again when they are gone', async () => {
    const world = new World()
    await world.applied(books())
    const { metadata } = await world.merge('Service/books', {
      metadata: { finalizers: ['test/one'] },
    })
    const { uid, resourceVersion } = metadata
    const ref = refNamed('Service/books', 'shop')
    await world.api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
    const leaving = await world.view(books())

    await world.merge('Service/books', { metadata: { finalizers: null } })

    expect(viewed(leaving)).to.deep.equal(QUIET)
    expect((await world.view(books())).outdated).to.deep.equal(['Service/books'])
  })

  it('have the Secrets that are to be made before them', async () => {
    const secrets = { outdated: ['Secret/books-secret'], foreign: ['Secret/books-etcd-ca'] }
    const { applier } = new World()

    const view = childrenOf({ input: books(), live: [], secrets, applier })

    expect(view.outdated).to.deep.equal(['Secret/books-secret', ...ALL])
    expect(view.foreign).to.deep.equal(['Secret/books-etcd-ca'])
  })
})

describe('surplus children', () => {
  const switchedOff: Readonly<Record<string, readonly [ClusterInput, readonly string[]]>> = {
    'a budget': [
      inputOf({ ...WRITTEN, podDisruptionBudget: { enabled: false } }),
      ['PodDisruptionBudget/books-node'],
    ],
    policies: [
      inputOf({ ...WRITTEN, networkPolicy: { enabled: false } }),
      ['NetworkPolicy/books-etcd', 'NetworkPolicy/books-node'],
    ],
    'an account of its own': [
      inputOf({ ...WRITTEN, serviceAccount: { name: 'theirs' } }),
      ['ServiceAccount/books'],
    ],
    'budgets of a cluster that sleeps': [
      asleep(),
      ['PodDisruptionBudget/books-etcd', 'PodDisruptionBudget/books-node'],
    ],
  }
  for (const [what, [input, names]] of Object.entries(switchedOff)) {
    it(`are what the spec does not ask for any more: ${what}`, async () => {
      const world = new World()
      await world.applied(books())

      expect((await world.view(input)).surplus).to.deep.equal(names)
    })
  }

  it('are not those that are on their way out', async () => {
    const world = new World()
    await world.applied(books())
    const { metadata } = await world.merge('ServiceAccount/books', {
      metadata: { finalizers: ['test/one'] },
    })
    const { uid, resourceVersion } = metadata
    const ref = refNamed('ServiceAccount/books', 'shop')
    await world.api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)

    const view = await world.view(inputOf({ ...WRITTEN, serviceAccount: { name: 'theirs' } }))

    expect(view.surplus).to.deep.equal([])
  })

  it('are not objects of other clusters, of other kinds, or that people have hung on the cluster', async () => {
    const world = new World()
    const input = books()
    await world.applied(input)
    const { cluster } = input
    const other = { ...cluster, uid: 'another' }
    const owned = metadataOf(cluster, 'extra')
    const [owner] = owned.ownerReferences ?? []
    const theirs = { ...owned, ownerReferences: [{ ...owner!, controller: false }] }
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: theirs })
    await world.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadataOf(other, 'other'),
    })
    await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: owned })
    await world.create(ownSet('StatefulSet/books-old'))

    expect(viewed(await world.view(input))).to.deep.equal(QUIET)
  })
})

describe('foreign objects', () => {
  const owners: Readonly<Record<string, Partial<ApiObject['metadata']>>> = {
    'without labels and owner': {},
    'of a cluster that had the name before': metadataOf(
      { ...books().cluster, uid: 'earlier' },
      'books',
    ),
  }
  for (const [what, owner] of Object.entries(owners)) {
    for (const name of [...ALL, 'StatefulSet/books-node', 'StatefulSet/books-etcd']) {
      it(`are named, and never outdated or surplus: ${name} ${what}`, async () => {
        const world = new World()
        const { kind, name: objectName } = refNamed(name, 'shop')
        const metadata = { ...owner, name: objectName, namespace: 'shop' }
        const apiVersion = kind.group === '' ? 'v1' : `${kind.group}/${kind.version}`
        await world.create({ apiVersion, kind: kind.kind, metadata })

        const { outdated, surplus, foreign } = await world.applied(books())

        expect({ outdated, surplus, foreign }).to.deep.equal({ ...QUIET, foreign: [name] })
      })
    }
  }
})

function asleep(): ClusterInput {
  const awake = books()
  const { nodes, etcd } = awake.decided
  return {
    ...awake,
    decided: {
      ...awake.decided,
      nodes: { ...nodes, replicas: 0 },
      ...(etcd === undefined ? {} : { etcd: { ...etcd, replicas: 0 } }),
    },
  }
}

function ownSet(name: string): ApiObject {
  const { cluster } = books()
  const metadata = metadataOf(cluster, refNamed(name, 'shop').name)
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: {} }
}
