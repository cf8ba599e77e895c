import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { classifyError } from '../../../../../operator/runtime/api/api-error.ts'
import { refOf } from '../../../../../operator/runtime/api/api-object.ts'
import type { StoredObject } from '../../../../../operator/runtime/api/api-object.ts'
import { Applier, hashOf } from '../../../../../operator/runtime/writes/applier.ts'
import { addFinalizer, removeFinalizer } from '../../../../../operator/runtime/writes/finalizers.ts'
import { mergePatchOf, writeStatus } from '../../../../../operator/runtime/writes/status-writer.ts'
import { widget } from '../../../../conformance/kubernetes-api.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { FakeKubernetes } from '../../../../support/kubernetes/fake-kubernetes.ts'
import { merged } from '../../../../support/kubernetes/json-merge.ts'
import { ALL_KINDS, CONFIG_MAPS, WIDGETS } from '../../../../support/kubernetes/known-kinds.ts'

const { signal } = new AbortController()
const FINALIZER = 'quarry.dev/test'

describe('Applier', () => {
  it('writes nothing while the wish and the live object are what they were', async () => {
    const { api, applier, writes } = open()
    const object = widget('test', 'a', { size: 1, tags: { x: 1, y: 2 } }, { of: 'test' })
    const reordered = widget('test', 'a', { tags: { y: 2, x: 1 }, size: 1 }, { of: 'test' })
    const live = await applier.apply({ kind: WIDGETS, object, live: undefined }, signal)
    await writeStatus(api, { kind: WIDGETS, object: live, status: { ready: 1 } }, signal)
    const before = writes()

    const seen = await api.get(refOf(WIDGETS, live.metadata), signal)
    await applier.apply({ kind: WIDGETS, object: reordered, live: seen }, signal)

    expect(writes()).to.equal(before)
  })

  it('puts right what others changed: spec, labels, a new object of the name', async () => {
    const { api, applier } = open()
    const object = widget('test', 'a', { size: 1 }, { of: 'test' })
    const first = await applier.apply({ kind: WIDGETS, object, live: undefined }, signal)
    const ref = refOf(WIDGETS, first.metadata)
    const foreign = [{ spec: { size: 9 } }, { metadata: { labels: { of: 'theirs' } } }]
    const applied: StoredObject[] = []

    for (const value of foreign) {
      const patch = { type: 'merge', value } as const
      const live = await api.patch({ ref, patch, part: 'object' }, signal)
      applied.push(await applier.apply({ kind: WIDGETS, object, live }, signal))
    }
    const { uid, resourceVersion } = applied[1]!.metadata
    await api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
    applied.push(await applier.apply({ kind: WIDGETS, object, live: undefined }, signal))

    expect(applied.map(({ spec, metadata }) => [spec, metadata.labels])).to.deep.equal(
      applied.map(() => [{ size: 1 }, { of: 'test' }]),
    )
  })

  it('compares versions of kinds that count no generations', async () => {
    const { api, applier, writes } = open()
    const metadata = { name: 'a', namespace: 'test' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: '1' } }
    const first = await applier.apply({ kind: CONFIG_MAPS, object, live: undefined }, signal)
    await applier.apply({ kind: CONFIG_MAPS, object, live: first }, signal)
    const before = writes()
    const patch = { type: 'merge', value: { data: { x: '2' } } } as const
    const ref = refOf(CONFIG_MAPS, metadata)
    const live = await api.patch({ ref, patch, part: 'object' }, signal)

    const second = await applier.apply({ kind: CONFIG_MAPS, object, live }, signal)

    expect(before).to.equal(1)
    expect(second['data']).to.deep.equal({ x: '1' })
  })

  it('tells whether it would write', async () => {
    const { api, applier } = open()
    const object = widget('test', 'a', { size: 1 }, { of: 'test' })
    const wish = { kind: WIDGETS, object }
    const before = applier.isApplied({ ...wish, live: undefined })
    const live = await applier.apply({ ...wish, live: undefined }, signal)
    const value = { spec: { size: 9 } }
    const ref = refOf(WIDGETS, live.metadata)

    const told = {
      before,
      after: applier.isApplied({ ...wish, live }),
      gone: applier.isApplied({ ...wish, live: undefined }),
      other: applier.isApplied({ ...wish, object: widget('test', 'a', { size: 2 }), live }),
      ofAnotherProcess: new Applier(api).isApplied({ ...wish, live }),
      changed: applier.isApplied({
        ...wish,
        live: await api.patch({ ref, patch: { type: 'merge', value }, part: 'object' }, signal),
      }),
    }

    expect(told).to.deep.equal({
      before: false,
      after: true,
      gone: false,
      other: false,
      ofAnotherProcess: false,
      changed: false,
    })
  })

  it('takes nothing over: neither what was not there, nor another object of the name', async () => {
    const { api, applier } = open()
    const object = widget('test', 'a', { size: 1 })
    const wish = { kind: WIDGETS, object }
    const first = await api.create(WIDGETS, widget('test', 'a', { size: 9 }), signal)
    const { uid, resourceVersion } = first.metadata
    const ref = refOf(WIDGETS, first.metadata)

    const whereNoneWas = await errorOf(() => applier.apply({ ...wish, live: undefined }, signal))
    await api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
    const whereItIsGone = await errorOf(() => applier.apply({ ...wish, live: first }, signal))
    await api.create(WIDGETS, widget('test', 'a', { size: 9 }), signal)
    const whereAnotherIs = await errorOf(() => applier.apply({ ...wish, live: first }, signal))

    const errors = [whereNoneWas, whereItIsGone, whereAnotherIs]
    expect(errors.map(classifyError)).to.deep.equal(errors.map(() => 'conflict'))
    expect((await api.get(ref, signal))?.['spec']).to.deep.equal({ size: 9 })
  })

  it('applies again what it has forgotten', async () => {
    const { applier, writes } = open()
    const object = widget('test', 'a', { size: 1 })
    const live = await applier.apply({ kind: WIDGETS, object, live: undefined }, signal)

    applier.forget(WIDGETS, object)
    await applier.apply({ kind: WIDGETS, object, live }, signal)

    expect(writes()).to.equal(2)
    expect(hashOf(object)).to.not.equal(hashOf(widget('test', 'a', { size: 2 })))
  })
})

describe('finalizers', () => {
  it('come and go beside those of others, without a write where nothing is to do', async () => {
    const { api, writes } = open()
    let object = await api.create(WIDGETS, widget('test', 'a', {}), signal)
    const change = (finalizer: string) => ({ kind: WIDGETS, object, finalizer })
    object = await addFinalizer(api, change('other/one'), signal)
    object = await addFinalizer(api, change(FINALIZER), signal)
    const both = object.metadata.finalizers
    const before = writes()
    await addFinalizer(api, change(FINALIZER), signal)
    await removeFinalizer(api, change('other/two'), signal)
    const after = writes()

    object = await removeFinalizer(api, change('other/one'), signal)

    expect(both).to.deep.equal(['other/one', FINALIZER])
    expect(after).to.equal(before)
    expect(object.metadata.finalizers).to.deep.equal([FINALIZER])
  })

  it('are a conflict if the object has changed since it was read', async () => {
    const { api } = open()
    const stale = await api.create(WIDGETS, widget('test', 'a', {}), signal)
    await addFinalizer(api, { kind: WIDGETS, object: stale, finalizer: 'other/one' }, signal)
    const add = () =>
      addFinalizer(api, { kind: WIDGETS, object: stale, finalizer: FINALIZER }, signal)

    expect(classifyError(await errorOf(add))).to.equal('conflict')
  })
})

describe('writeStatus', () => {
  it('writes exactly the status, and nothing if it is equal', async () => {
    const { api, writes } = open()
    const object = await api.create(WIDGETS, widget('test', 'a', {}), signal)
    const first = { phase: 'Creating', nodes: { ready: 1, desired: 3 }, members: [{ id: 1 }] }
    const second = { nodes: { ready: 3 }, members: [] }
    const stored = await writeStatus(api, { kind: WIDGETS, object, status: first }, signal)
    const changed = await writeStatus(
      api,
      { kind: WIDGETS, object: stored, status: second },
      signal,
    )
    const before = writes()

    await writeStatus(api, { kind: WIDGETS, object: changed, status: { ...second } }, signal)

    expect(changed['status']).to.deep.equal(second)
    expect(writes()).to.equal(before)
  })

  it('is a conflict if the object has changed since it was read', async () => {
    const { api } = open()
    const object = await api.create(WIDGETS, widget('test', 'a', {}), signal)
    await writeStatus(api, { kind: WIDGETS, object, status: { ready: 1 } }, signal)
    const write = () => writeStatus(api, { kind: WIDGETS, object, status: { ready: 2 } }, signal)

    expect(classifyError(await errorOf(write))).to.equal('conflict')
  })

  it('makes the one of the other by its merge patch', () => {
    const before = { a: 1, b: { c: 2, d: { e: 3 } }, f: [1, 2] }
    const after = { b: { d: { g: 4 } }, f: [1], h: {} }

    expect(mergePatchOf(before, after)).to.deep.equal({
      a: null,
      b: { c: null, d: { e: null, g: 4 } },
      f: [1],
      h: {},
    })
    expect(merged(before, mergePatchOf(before, after))).to.deep.equal(after)
  })
})

function open() {
  const api = new FakeKubernetes(new ManualClock(), ALL_KINDS)
  const reads = new Set(['get', 'list', 'watch'])
  const writes = (): number => api.requests.filter(({ verb }) => !reads.has(verb)).length
  return { api, applier: new Applier(api), writes }
}
