// What a step does at a real API server, beside the controllers of Kubernetes: preconditions, fields that cannot be changed,
// and pods that outlive their set. No pod runs here, so that none is ever ready.

import { KubeConfig } from '@kubernetes/client-node'
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import { StepExecutor } from '../../../operator/carry-out/step-executor.ts'
import { systemKeys } from '../../../operator/certificates/system-keys.ts'
import { childrenOf } from '../../../operator/children/children.ts'
import type { Children } from '../../../operator/children/children.ts'
import { liveChildren, refNamed } from '../../../operator/children/live-children.ts'
import type { ObjectVersion, Step } from '../../../operator/machines/pass/decision.ts'
import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import type { StoredObject } from '../../../operator/runtime/api/api-object.ts'
import { KubernetesClient } from '../../../operator/runtime/client/kubernetes-client.ts'
import { Applier } from '../../../operator/runtime/writes/applier.ts'
import { inputOf } from '../../support/operator/cluster-inputs.ts'
import { NO_SECRETS } from '../../support/operator/step-world.ts'
import { eventually } from '../support/eventually.ts'
import { applyKinds, manifest, storedObject, StoreClusters } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const { signal } = new AbortController()
const SET = 'StatefulSet/books-node'
const CLAIM = 'PersistentVolumeClaim/data-books-node-1'
const WRITTEN = { nodes: { storage: { size: '10Gi' } }, inference: { enabled: true } }

describe('steps at the API server', function () {
  this.timeout(300_000)

  const namespace = useNamespace('api', import.meta.filename)
  let api: KubernetesClient
  let applier: Applier
  let input: ClusterInput

  before(async () => {
    await applyKinds(namespace())
    const config = new KubeConfig()
    config.loadFromFile(namespace().tier.kubeconfig)
    api = new KubernetesClient(config, systemClock)
    applier = new Applier(api)
    storedObject(await new StoreClusters(namespace()).create(manifest({ name: 'books' })))
    input = inputWith(WRITTEN, (await must('StoreCluster/books')).metadata.uid)
  })

  after(async () => api?.[Symbol.asyncDispose]())

  it('make the children once, and a process that is new writes no version of them', async () => {
    const first = await children()
    await carriedOut({ kind: 'apply_children', names: first.outdated })
    // The controller of budgets writes a status into each, which is another version.
    const seen = '--for=jsonpath={.status.observedGeneration}=1'
    await namespace().kubectl(['wait', seen, 'poddisruptionbudget', '--all', '--timeout=60s'])
    const versions = await childVersions()
    applier = new Applier(api)
    const again = await children()

    await carriedOut({ kind: 'apply_children', names: again.outdated })

    const { outdated, surplus, foreign } = await children()
    expect(again.outdated).to.deep.equal(first.outdated)
    expect(await childVersions()).to.deep.equal(versions)
    expect({ outdated, surplus, foreign }).to.deep.equal({ outdated: [], surplus: [], foreign: [] })
  })

  it('make a set where none is, and its pods', async () => {
    const step = { kind: 'create_set', pool: 'nodes', replicas: 2, partition: 0 } as const

    expect([await carryOut(step), await carryOut(step)]).to.deep.equal(['done', 'outdated'])
    await podUIDs(2)
  })

  it('write a template without what the last one had besides, and leave alone what cannot change', async () => {
    const { replicas, ...before } = await specOf(SET)
    const other = {
      ...WRITTEN,
      inference: { enabled: false },
      nodes: { ...WRITTEN.nodes, storage: { size: '20Gi' } },
    }
    input = inputWith(other, input.cluster.uid)
    const stale = await version(SET)
    await settled(async (set) => {
      await carriedOut({ kind: 'write_template', pool: 'nodes', set, partition: 2 })
    })
    const outcome = await carryOut({
      kind: 'write_template',
      pool: 'nodes',
      set: stale,
      partition: 0,
    })

    const after = await specOf(SET)
    const names = after.template.spec.containers.map(({ name }: { name: string }) => name)
    expect(names).to.deep.equal(['quarry'])
    expect(before.template.spec.containers).to.have.length(2)
    expect(after.updateStrategy.rollingUpdate.partition).to.equal(2)
    expect(after.replicas).to.equal(replicas)
    expect(after.volumeClaimTemplates).to.deep.equal(before.volumeClaimTemplates)
    expect(outcome).to.equal('outdated')
  })

  it('change one field of the set that was read, and of no other version or UID', async () => {
    const before = await specOf(SET)
    const { uid, resourceVersion } = await version(SET)
    const others = [
      { uid, resourceVersion: '1' },
      { uid: input.cluster.uid, resourceVersion },
    ]

    const outcomes = await Promise.all(others.flatMap(stepsOf).map((step) => carryOut(step)))

    expect(outcomes).to.deep.equal(outcomes.map(() => 'outdated'))
    expect(await specOf(SET)).to.deep.equal(before)
  })

  it('mark the claim that was read, and no other version or UID', async () => {
    const mark = { at: '2026-01-01T00:00:00Z', cluster: 'c', nodeID: 'n1', operation: 'o1' }
    const name = 'data-books-node-1'
    const stale = await version(CLAIM)
    await carriedOut({ kind: 'adopt_claim', name, claim: stale, clusterUID: 'c' })
    const { uid, resourceVersion } = await version(CLAIM)
    const others = [
      stale,
      { uid: input.cluster.uid, resourceVersion },
      { uid, resourceVersion: '1' },
    ]

    const outcomes = await Promise.all(
      others.flatMap((claim) => [
        carryOut({ kind: 'mark_claim', name, claim, mark }),
        carryOut({ kind: 'delete_claim', name, claim }),
      ]),
    )
    const between = (await must(CLAIM)).metadata.annotations
    await carriedOut({ kind: 'mark_claim', name, claim: { uid, resourceVersion }, mark })

    expect(outcomes).to.deep.equal(outcomes.map(() => 'outdated'))
    expect(between?.['quarry.dev/cluster-uid']).to.equal('c')
    expect(between).to.not.have.property('quarry.dev/drained')
    const annotations = (await must(CLAIM)).metadata.annotations
    expect(annotations?.['quarry.dev/drained']).to.equal(JSON.stringify(mark))
  })

  it('keep the pods of a set that is made again, and give it the revision that they have', async () => {
    const pods = await podUIDs(2)
    const { currentRevision } = await statusOf(SET)
    await settled((set) => carriedOut({ kind: 'delete_set', pool: 'nodes', set, keepsPods: true }))
    await eventually(
      'the set is gone',
      () => find(SET),
      (set) => set === undefined,
    )

    await carriedOut({ kind: 'create_set', pool: 'nodes', replicas: 2, partition: 2 })

    const status = await eventually(
      'the set has seen its pods',
      () => statusOf(SET),
      ({ observedGeneration, replicas }) => observedGeneration === 1 && replicas === 2,
    )
    expect(status['updateRevision']).to.equal(currentRevision)
    expect(await podUIDs(2)).to.deep.equal(pods)
    const { template } = await specOf(SET)
    expect(template.spec.containers, 'the spec asks for one by now').to.have.length(2)
  })

  it('delete the pod that was read', async () => {
    const pods = await podUIDs(2)
    const name = 'books-node-1'

    const other = await carryOut({ kind: 'delete_pod', name, uid: input.cluster.uid })
    const before = await podUIDs(2)
    await carriedOut({ kind: 'delete_pod', name, uid: pods[1] ?? '' })

    expect(other).to.equal('outdated')
    expect(before).to.deep.equal(pods)
    await eventually(
      'another pod',
      () => podUIDs(2),
      ([, uid]) => uid !== pods[1],
    )
  })

  it('delete what the spec does not ask for, and nothing of others', async () => {
    const off = { ...WRITTEN, networkPolicy: { enabled: false } }
    input = inputWith(off, input.cluster.uid)
    const { surplus } = await children()
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs' } }
    await namespace().apply(theirs)

    await carriedOut({ kind: 'delete_children', names: surplus })

    expect(surplus).to.deep.equal(['NetworkPolicy/books-etcd', 'NetworkPolicy/books-node'])
    expect(await carryOut({ kind: 'delete_children', names: ['ConfigMap/theirs'] })).to.equal(
      'outdated',
    )
    expect((await children()).surplus).to.deep.equal([])
  })

  it('happen to no cluster that was edited since it was read', async () => {
    const cluster = await must('StoreCluster/books')
    const step = { kind: 'add_finalizer' } as const
    await namespace().kubectl(['annotate', 'storecluster', 'books', 'test/edited=true'])

    expect(await carryOut(step, cluster)).to.equal('outdated')
    expect(await carryOut(step)).to.equal('done')
    expect(await carryOut({ kind: 'remove_finalizer' })).to.equal('done')
  })

  function inputWith(written: object, uid: string): ClusterInput {
    const decided = { hasPodMonitors: false }
    const made = inputOf(written, { namespace: namespace().name, decided })
    return { ...made, cluster: { ...made.cluster, uid } }
  }

  async function children(): Promise<Children> {
    const live = await liveChildren(api, { input, cached: await allChildren() }, signal)
    return childrenOf({ input, live, secrets: NO_SECRETS, applier })
  }

  async function allChildren(): Promise<readonly StoredObject[]> {
    const kinds = ['ServiceAccount', 'ConfigMap', 'Service', 'NetworkPolicy', 'PodDisruptionBudget']
    const pages = kinds.map(async (kind) => {
      const { namespace: at, kind: found } = refNamed(`${kind}/x`, namespace().name)
      const selection = {
        kind: found,
        namespace: at,
        labelSelector: 'app.kubernetes.io/name=quarry',
      }
      return (await api.list(selection, { limit: 500, continueToken: '' }, signal)).items
    })
    return (await Promise.all(pages)).flat()
  }

  async function childVersions() {
    const all = await allChildren()
    return all.map(({ metadata }) => [metadata.name, metadata.resourceVersion])
  }

  async function carryOut(step: Step, cluster?: StoredObject): Promise<string> {
    const { wishes } = await children()
    const executor = new StepExecutor({
      api,
      applier,
      clock: systemClock,
      keys: systemKeys,
      random: randomBytes,
    })
    const context = {
      cluster: cluster ?? (await must('StoreCluster/books')),
      input,
      wishes,
      liveSets: { nodes: await find(SET), etcd: undefined },
      secrets: NO_SECRETS,
      store: undefined,
      etcd: undefined,
    }
    return executor.carryOut(step, context, signal)
  }

  async function carriedOut(step: Step): Promise<void> {
    expect(await carryOut(step)).to.equal('done')
  }

  /** Acts on the set while its controller writes its status, which makes another version each time. */
  async function settled(act: (set: ObjectVersion) => Promise<void>): Promise<void> {
    await eventually(
      'the set is left alone by its controller',
      async () => {
        try {
          await act(await version(SET))
          return 'done'
        } catch (error) {
          return String(error)
        }
      },
      (outcome) => outcome === 'done',
    )
  }

  function find(name: string): Promise<StoredObject | undefined> {
    return api.get(refNamed(name, namespace().name), signal)
  }

  async function must(name: string): Promise<StoredObject> {
    const found = await find(name)
    if (found === undefined) throw new RangeError(`${name} is absent`)
    return found
  }

  async function version(name: string): Promise<ObjectVersion> {
    const { uid, resourceVersion } = (await must(name)).metadata
    return { uid, resourceVersion }
  }

  async function specOf(name: string) {
    return JSON.parse(JSON.stringify((await must(name))['spec']))
  }

  async function statusOf(name: string): Promise<Readonly<Record<string, unknown>>> {
    return Object((await must(name))['status'])
  }

  /** As soon as there are so many, and their claims. */
  async function podUIDs(count: number): Promise<readonly (string | undefined)[]> {
    const names = Array.from({ length: count }, (_, ordinal) => `Pod/books-node-${ordinal}`)
    return eventually(
      `${count} pods`,
      async () => {
        const pods = await Promise.all(names.map((name) => find(name)))
        const present = pods.filter((pod) => pod?.metadata.deletionTimestamp === undefined)
        return present.map((pod) => pod?.metadata.uid)
      },
      (uids) => uids.length === count && !uids.includes(undefined),
    )
  }
})

/** Each change of a set but that of its template. */
function stepsOf(set: ObjectVersion): readonly Step[] {
  return [
    { kind: 'set_partition', pool: 'nodes', set, partition: 1 },
    { kind: 'set_replicas', pool: 'nodes', set, replicas: 1 },
    { kind: 'delete_set', pool: 'nodes', set, keepsPods: true },
  ]
}
