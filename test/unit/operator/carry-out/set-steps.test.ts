import type { V1StatefulSetSpec } from '@kubernetes/client-node'
import { expect } from 'chai'
import type { Pool, Step } from '../../../../operator/machines/pass/decision.ts'
import type { DeleteRequest } from '../../../../operator/runtime/api/kubernetes-api.ts'
import { inputOf } from '../../../support/operator/cluster-inputs.ts'
import { StepWorld, WRITTEN } from '../../../support/operator/step-world.ts'

const SET = 'StatefulSet/books-node'
const ETCD_SET = 'StatefulSet/books-etcd'

describe('create_set', () => {
  it('makes the set as the builders do, with the replicas and the partition of the step', async () => {
    const world = await StepWorld.open()
    const before = await specOf(world, SET)
    await world.remove('Pod/books-node-2')
    await world.remove(SET)

    await carriedOut(world, create('nodes', 5, 1))

    const { replicas, updateStrategy, ...rest } = await specOf(world, SET)
    const { replicas: _, updateStrategy: __, ...same } = before
    expect(rest).to.deep.equal(same)
    expect(replicas).to.equal(5)
    expect(updateStrategy?.rollingUpdate?.partition).to.equal(1)
  })

  for (const [pool, set] of [
    ['nodes', SET],
    ['etcd', ETCD_SET],
  ] as const) {
    it(`begins with the template of the lowest pod that is left, and restarts none: ${pool}`, async () => {
      const world = await StepWorld.open()
      const name = set.split('/')[1] ?? ''
      await world.remove(set)
      await leave(world, `${name}-2`, 'new')
      await leave(world, `${name}-10`, 'new')
      await leave(world, `${name}-1`, 'old')

      await carriedOut(world, create(pool, 3, 0))

      const { template, updateStrategy } = await specOf(world, set)
      expect(template).to.deep.equal({
        metadata: { labels: { of: 'old' } },
        spec: { containers: [] },
      })
      expect(updateStrategy?.rollingUpdate?.partition).to.equal(3)
    })
  }

  it('builds the template where the revision of the pods is gone, and restarts none', async () => {
    const world = await StepWorld.open()
    const { template: before } = await specOf(world, SET)
    await world.remove(SET)

    await carriedOut(world, create('nodes', 3, 0))

    const { template, updateStrategy } = await specOf(world, SET)
    expect(template).to.deep.equal(before)
    expect(updateStrategy?.rollingUpdate?.partition).to.equal(3)
  })

  it('does not count pods that are stopping, or those of others', async () => {
    const world = await StepWorld.open()
    await world.remove(SET)
    await world.remove('Pod/books-node-2')
    await leave(world, 'books-node-1', 'old', { finalizers: ['test/one'] })
    await leave(world, 'books-node-x', 'old')
    await leave(world, 'books-nodes-0', 'old')
    const { uid, resourceVersion } = await world.version('Pod/books-node-1')
    const ref = world.ref('Pod/books-node-1')
    const request = { ref, uid, resourceVersion, propagation: 'Background' } as const
    await world.fake.delete(request, new AbortController().signal)

    await carriedOut(world, create('nodes', 3, 0))

    expect((await specOf(world, SET)).updateStrategy?.rollingUpdate?.partition).to.equal(0)
  })
})

describe('write_template', () => {
  it('writes the template and the partition, and leaves the rest as it is live', async () => {
    const world = await StepWorld.open()
    await world.merge(SET, {
      spec: {
        replicas: 7,
        serviceName: 'of an earlier version',
        podManagementPolicy: 'OrderedReady',
        selector: { matchLabels: { of: 'an earlier version' } },
        volumeClaimTemplates: [{ metadata: { name: 'of an earlier version' } }],
      },
    })
    const before = await specOf(world, SET)
    changeSpec(world)

    await carriedOut(world, await write(world, 7))

    const { template, updateStrategy, ...rest } = await specOf(world, SET)
    const { template: old, updateStrategy: _, ...same } = before
    expect(rest).to.deep.equal(same)
    expect(template).to.not.deep.equal(old)
    expect(updateStrategy).to.deep.equal({ type: 'RollingUpdate', rollingUpdate: { partition: 7 } })
  })

  it('leaves a template alone that another version has built with the same digest', async () => {
    const world = await StepWorld.open()
    await world.merge(SET, { spec: { template: { spec: { containers: [{ name: 'other' }] } } } })
    const before = await specOf(world, SET)

    await carriedOut(world, await write(world, 3))

    const { template, updateStrategy } = await specOf(world, SET)
    expect(template).to.deep.equal(before.template)
    expect(updateStrategy?.rollingUpdate?.partition).to.equal(3)
  })

  it('is outdated if the set that was read is not the one of the step', async () => {
    const world = await StepWorld.open()
    const step = await write(world, 3)
    await world.touch(SET)

    expect(await world.carryOut(step, await world.context())).to.equal('outdated')
  })
})

describe('set_partition', () => {
  it('brings a set back to rolling updates that somebody has taken from it', async () => {
    const world = await StepWorld.open()
    await world.merge(SET, { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } } })
    const set = await world.version(SET)

    await carriedOut(world, { kind: 'set_partition', pool: 'nodes', set, partition: 2 })

    expect((await specOf(world, SET)).updateStrategy).to.deep.equal({
      type: 'RollingUpdate',
      rollingUpdate: { partition: 2 },
    })
  })
})

describe('what goes with a deleted object', () => {
  const deletions: Readonly<Record<string, (world: StepWorld) => Promise<Step>>> = {
    Orphan: async (world) => ({
      kind: 'delete_set',
      pool: 'nodes',
      set: await world.version(SET),
      keepsPods: true,
    }),
    Foreground: async (world) => ({
      kind: 'delete_set',
      pool: 'etcd',
      set: await world.version(ETCD_SET),
      keepsPods: false,
    }),
    Background: async (world) => {
      const { uid } = await world.version('Pod/books-node-2')
      return { kind: 'delete_pod', name: 'books-node-2', uid }
    },
  }
  for (const [propagation, stepOf] of Object.entries(deletions)) {
    it(`is decided by ${propagation}`, async () => {
      const requests: DeleteRequest[] = []
      const world = await StepWorld.open((_world, api) => ({
        delete: (request, signal) => {
          requests.push(request)
          return api.delete(request, signal)
        },
      }))

      await carriedOut(world, await stepOf(world))

      expect(requests.map((request) => request.propagation)).to.deep.equal([propagation])
    })
  }

  it('is nothing for a pod that is stopping already', async () => {
    const world = await StepWorld.open()
    await world.merge('Pod/books-node-2', { metadata: { finalizers: ['test/one'] } })
    const { uid } = await world.version('Pod/books-node-2')
    const step = { kind: 'delete_pod', name: 'books-node-2', uid } as const
    await carriedOut(world, step)
    const writes = world.writes()

    await carriedOut(world, step)

    expect(world.writes()).to.equal(writes)
  })
})

async function carriedOut(world: StepWorld, step: Step): Promise<void> {
  expect(await world.carryOut(step, await world.context())).to.equal('done')
}

function create(pool: Pool, replicas: number, partition: number): Step {
  return { kind: 'create_set', pool, replicas, partition }
}

async function write(world: StepWorld, partition: number): Promise<Step> {
  return { kind: 'write_template', pool: 'nodes', set: await world.version(SET), partition }
}

function changeSpec(world: StepWorld): void {
  const { cluster, decided } = inputOf({ ...WRITTEN, logLevel: 'Debug' })
  world.input = { cluster: { ...cluster, uid: world.input.cluster.uid }, decided }
}

async function specOf(world: StepWorld, name: string): Promise<V1StatefulSetSpec> {
  return JSON.parse(JSON.stringify(await world.at(name, 'spec')))
}

/** A pod without a set, and the revision that it was made from. */
async function leave(
  world: StepWorld,
  pod: string,
  revision: string,
  metadata: object = {},
): Promise<void> {
  const name = `revision-${revision}`
  const component = pod.includes('etcd') ? 'etcd' : 'node'
  const labels = {
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/instance': 'books',
    'app.kubernetes.io/name': 'quarry',
    'controller-revision-hash': name,
  }
  if ((await world.get(`Pod/${pod}`)) !== undefined) await world.remove(`Pod/${pod}`)
  await world.create(`Pod/${pod}`, { ...metadata, labels })
  if ((await world.get(`ControllerRevision/${name}`)) !== undefined) return
  const template = {
    $patch: 'replace',
    metadata: { creationTimestamp: null, labels: { of: revision } },
    spec: { containers: [] },
  }
  await world.create(`ControllerRevision/${name}`)
  await world.merge(`ControllerRevision/${name}`, { data: { spec: { template } } })
}
