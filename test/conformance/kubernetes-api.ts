import { expect } from 'chai'
import { classifyError } from '../../operator/runtime/api/api-error.ts'
import { refOf } from '../../operator/runtime/api/api-object.ts'
import type {
  ApiObject,
  ResourceKind,
  StoredObject,
} from '../../operator/runtime/api/api-object.ts'
import { ABSENT } from '../../operator/runtime/api/kubernetes-api.ts'
import type {
  JsonPatchStep,
  KubernetesApi,
  ObjectPatch,
  Selection,
  WatchEvent,
} from '../../operator/runtime/api/kubernetes-api.ts'
import { errorOf } from '../support/error-of.ts'
import { CONFIG_MAPS, WIDGETS } from '../support/kubernetes/known-kinds.ts'

/** An API server with the kinds CONFIG_MAPS and WIDGETS, and an empty namespace in it. */
export interface ApiWorld extends AsyncDisposable {
  readonly api: KubernetesApi
  readonly namespace: string
}

const { signal } = new AbortController()
const LIST_LIMIT = 500
/** The UID of no object. */
const OTHER_UID = 'ffffffff-0000-4000-8000-000000000000'

export const widget = (namespace: string, name: string, spec: object, labels = {}): ApiObject => ({
  apiVersion: 'tests.quarry.dev/v1',
  kind: 'Widget',
  metadata: { name, namespace, labels },
  spec,
})

const configMap = (namespace: string, name: string, data: Record<string, string>): ApiObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
})

const selecting = (kind: ResourceKind, namespace: string, labelSelector = ''): Selection => ({
  kind,
  namespace,
  labelSelector,
})

/** Every KubernetesApi must pass. */
export function describeKubernetesApi(name: string, open: () => Promise<ApiWorld>): void {
  describe(`${name}: KubernetesApi contract`, () => {
    describeReads(open)
    describeWrites(open)
    describePatches(open)
    describeApply(open)
    describeDeletes(open)
    describeWatches(open)
  })
}

function describeReads(open: () => Promise<ApiWorld>): void {
  it('gets what was created, as it was sent', async () => {
    await using world = await open()
    const { api, namespace } = world
    const spec = { size: 3, nested: { default: 'x', enum: ['a'] }, from: [1, 2] }
    const created = await api.create(WIDGETS, widget(namespace, 'a', spec), signal)

    const got = await api.get(refOf(WIDGETS, created.metadata), signal)

    expect(got).to.deep.equal(created)
    expect(got).to.deep.include({ apiVersion: 'tests.quarry.dev/v1', kind: 'Widget', spec })
    expect(got?.metadata).to.include({ name: 'a', namespace, generation: 1 })
    expect(got?.metadata).to.not.have.property('managedFields')
  })

  it('gets undefined for what is absent, and for a kind that is not served', async () => {
    await using world = await open()
    const { api, namespace } = world
    const unknown = { ...WIDGETS, plural: 'gadgets', kind: 'Gadget' }
    const other = { ...WIDGETS, group: 'absent.quarry.dev' }

    const found = [WIDGETS, unknown, other].map((kind) =>
      api.get({ kind, namespace, name: 'none' }, signal),
    )

    expect(await Promise.all(found)).to.deep.equal([undefined, undefined, undefined])
  })

  it('lists in pages of one moment, by namespace and labels', async () => {
    await using world = await open()
    const { api, namespace } = world
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const labels = { parity: 'abcde'.indexOf(name) % 2 === 0 ? 'even' : 'odd' }
      await api.create(WIDGETS, widget(namespace, name, {}, labels), signal)
    }

    const first = await api.list(
      selecting(WIDGETS, namespace),
      { limit: 2, continueToken: '' },
      signal,
    )
    await api.create(WIDGETS, widget(namespace, 'f', {}), signal)
    const pages = [first]
    for (let last = first; last.continueToken !== ''; pages.push(last)) {
      const page = { limit: 2, continueToken: last.continueToken }
      last = await api.list(selecting(WIDGETS, namespace), page, signal)
    }
    const even = selecting(WIDGETS, namespace, 'parity=even')
    const labelled = await api.list(even, { limit: LIST_LIMIT, continueToken: '' }, signal)

    expect(pages.map(({ items }) => namesOf(items))).to.deep.equal([['a', 'b'], ['c', 'd'], ['e']])
    expect(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size).to.equal(1)
    expect(namesOf(labelled.items)).to.deep.equal(['a', 'c', 'e'])
    expect(labelled.items[0]).to.include({ apiVersion: 'tests.quarry.dev/v1', kind: 'Widget' })
  })

  it('refuses lists of a kind that is not served with 404', async () => {
    await using world = await open()
    const { api, namespace } = world
    const selection = selecting({ ...WIDGETS, plural: 'gadgets' }, namespace)

    const error = await errorOf(() => api.list(selection, { limit: 2, continueToken: '' }, signal))

    expect(error).to.include({ name: 'ApiError', status: 404 })
  })

  it('rejects with the reason of an aborted signal', async () => {
    await using world = await open()
    const { api, namespace } = world
    const reason = new Error('enough')

    const get = api.get({ kind: WIDGETS, namespace, name: 'a' }, AbortSignal.abort(reason))

    expect(await errorOf(() => get)).to.equal(reason)
  })
}

function describeWrites(open: () => Promise<ApiWorld>): void {
  it('refuses to create what exists, as a conflict', async () => {
    await using world = await open()
    const { api, namespace } = world
    await api.create(CONFIG_MAPS, configMap(namespace, 'a', {}), signal)

    const error = await errorOf(() =>
      api.create(CONFIG_MAPS, configMap(namespace, 'a', {}), signal),
    )

    expect(error).to.include({ status: 409, reason: 'AlreadyExists' })
  })

  it('replaces the version that was read, and no other', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(CONFIG_MAPS, configMap(namespace, 'a', { of: '1' }), signal)
    const second = await api.replace(CONFIG_MAPS, { ...first, data: { of: '2' } }, signal)

    const error = await errorOf(() =>
      api.replace(CONFIG_MAPS, { ...first, data: { of: '3' } }, signal),
    )

    expect(classifyError(error)).to.equal('conflict')
    expect(second.metadata.resourceVersion).to.not.equal(first.metadata.resourceVersion)
    expect(await api.get(refOf(CONFIG_MAPS, first.metadata), signal)).to.deep.equal(second)
  })

  it('refuses to replace and patch what is absent with 404', async () => {
    await using world = await open()
    const { api, namespace } = world
    const ghost = configMap(namespace, 'ghost', {})
    const metadata = { ...ghost.metadata, uid: 'none', resourceVersion: '1' }
    const patch = { type: 'merge', value: { data: { a: 'b' } } } as const
    const ref = refOf(CONFIG_MAPS, metadata)

    const errors = [
      await errorOf(() => api.replace(CONFIG_MAPS, { ...ghost, metadata }, signal)),
      await errorOf(() => api.patch({ ref, patch, part: 'object' }, signal)),
    ]

    expect(errors[0]).to.include({ status: 404 })
    expect(errors[1]).to.include({ status: 404 })
  })

  it('keeps spec and status apart', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(
      WIDGETS,
      { ...widget(namespace, 'a', { size: 1 }), status: { ready: 9 } },
      signal,
    )
    const ref = refOf(WIDGETS, first.metadata)
    const value = { spec: { size: 2 }, status: { ready: 2 } }
    const patch = { type: 'merge', value } as const

    const withStatus = await api.patch({ ref, patch, part: 'status' }, signal)
    const withSpec = await api.patch(
      { ref, patch: { ...patch, value: { ...value, status: { ready: 3 } } }, part: 'object' },
      signal,
    )

    expect(first).to.not.have.property('status')
    expect(withStatus).to.deep.include({ spec: { size: 1 }, status: { ready: 2 } })
    expect(withStatus.metadata.generation).to.equal(1)
    expect(withSpec).to.deep.include({ spec: { size: 2 }, status: { ready: 2 } })
    expect(withSpec.metadata.generation).to.equal(2)
  })
}

function describePatches(open: () => Promise<ApiWorld>): void {
  it('merges, and removes what is null', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(
      CONFIG_MAPS,
      configMap(namespace, 'a', { x: '1', y: '2' }),
      signal,
    )
    const ref = refOf(CONFIG_MAPS, first.metadata)
    const value = { data: { x: null, z: '3' } }

    const second = await api.patch({ ref, patch: { type: 'merge', value }, part: 'object' }, signal)

    expect(second['data']).to.deep.equal({ y: '2', z: '3' })
  })

  it('refuses a merge patch of another version as a conflict', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(WIDGETS, widget(namespace, 'a', { size: 1 }), signal)
    const ref = refOf(WIDGETS, first.metadata)
    const { resourceVersion } = first.metadata
    const write = (ready: number): Promise<StoredObject> => {
      const value = { metadata: { resourceVersion }, status: { ready } }
      return api.patch({ ref, patch: { type: 'merge', value }, part: 'status' }, signal)
    }
    await write(1)

    expect(await errorOf(() => write(2))).to.include({ status: 409, reason: 'Conflict' })
  })

  it('refuses a patch of another UID as a conflict', async () => {
    await using world = await open()
    const { api, namespace } = world
    const { metadata } = await api.create(WIDGETS, widget(namespace, 'a', { size: 1 }), signal)
    const { resourceVersion } = metadata
    const value = { metadata: { uid: OTHER_UID, resourceVersion }, spec: { size: 2 } }
    const patches: readonly ObjectPatch[] = [
      { type: 'merge', value },
      {
        type: 'json',
        steps: [
          { op: 'test', path: '/metadata/uid', value: OTHER_UID },
          { op: 'replace', path: '/spec/size', value: 2 },
        ],
      },
    ]
    const ref = refOf(WIDGETS, metadata)
    const errors: unknown[] = []

    for (const patch of patches) {
      errors.push(await errorOf(() => api.patch({ ref, patch, part: 'object' }, signal)))
    }

    expect(errors.map(classifyError)).to.deep.equal(['conflict', 'conflict'])
    expect((await api.get(ref, signal))?.['spec']).to.deep.equal({ size: 1 })
  })

  it('carries a JSON patch out if its tests hold, and refuses it as a conflict otherwise', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(WIDGETS, widget(namespace, 'a', { size: 1 }), signal)
    const ref = refOf(WIDGETS, first.metadata)
    const steps: readonly JsonPatchStep[] = [
      { op: 'test', path: '/metadata/resourceVersion', value: first.metadata.resourceVersion },
      { op: 'replace', path: '/spec/size', value: 5 },
    ]
    const patch = { ref, patch: { type: 'json', steps }, part: 'object' } as const

    const second = await api.patch(patch, signal)

    expect(second['spec']).to.deep.equal({ size: 5 })
    expect(classifyError(await errorOf(() => api.patch(patch, signal)))).to.equal('conflict')
  })
}

function describeApply(open: () => Promise<ApiWorld>): void {
  it('applies: creates, changes, and removes what it applied before', async () => {
    await using world = await open()
    const { api, namespace } = world
    const apply = (data: Record<string, string>): Promise<StoredObject> =>
      api.apply({ kind: CONFIG_MAPS, object: configMap(namespace, 'a', data), force: true }, signal)
    const first = await apply({ x: '1', y: '2' })
    const ref = refOf(CONFIG_MAPS, first.metadata)
    const foreign = { type: 'merge', value: { data: { theirs: 'kept' } } } as const
    await api.patch({ ref, patch: foreign, part: 'object' }, signal)

    const second = await apply({ x: '3' })

    expect(first['data']).to.deep.equal({ x: '1', y: '2' })
    expect(second['data']).to.deep.equal({ x: '3', theirs: 'kept' })
    expect(second.metadata.uid).to.equal(first.metadata.uid)
  })

  it('keeps the version when it applies the same again', async () => {
    await using world = await open()
    const { api, namespace } = world
    const object = widget(namespace, 'a', { size: 1 }, { of: 'test' })
    const first = await api.apply({ kind: WIDGETS, object, force: true }, signal)

    const second = await api.apply({ kind: WIDGETS, object, force: true }, signal)

    expect(second).to.deep.equal(first)
  })

  it('takes fields over with force alone', async () => {
    await using world = await open()
    const { api, namespace } = world
    await api.create(CONFIG_MAPS, configMap(namespace, 'a', { x: 'theirs' }), signal)
    const object = configMap(namespace, 'a', { x: 'ours' })

    const error = await errorOf(() =>
      api.apply({ kind: CONFIG_MAPS, object, force: false }, signal),
    )
    const taken = await api.apply({ kind: CONFIG_MAPS, object, force: true }, signal)

    expect(error).to.include({ status: 409 })
    expect(error).to.have.nested.property('causes[0].reason', 'FieldManagerConflict')
    expect(taken['data']).to.deep.equal({ x: 'ours' })
  })

  it('applies to the object of a UID and a version, and refuses another one as a conflict', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(WIDGETS, widget(namespace, 'a', { size: 1 }), signal)
    const apply = (is: { uid?: string; resourceVersion?: string }): Promise<StoredObject> => {
      const object = widget(namespace, 'a', { size: 2 })
      const metadata = { ...object.metadata, ...is }
      return api.apply({ kind: WIDGETS, object: { ...object, metadata }, force: true }, signal)
    }
    const { uid, resourceVersion } = first.metadata
    const others = [
      { uid: OTHER_UID },
      { resourceVersion: ABSENT },
      { uid: OTHER_UID, resourceVersion },
    ]
    const errors: unknown[] = []

    for (const is of others) errors.push(await errorOf(() => apply(is)))
    const second = await apply({ uid, resourceVersion })
    errors.push(await errorOf(() => apply({ uid, resourceVersion })))

    expect(errors.map(classifyError)).to.deep.equal(errors.map(() => 'conflict'))
    expect(second['spec']).to.deep.equal({ size: 2 })
    expect(second.metadata.uid).to.equal(uid)
  })

  it('applies what is absent only without a UID', async () => {
    await using world = await open()
    const { api, namespace } = world
    const apply = (is: { uid?: string; resourceVersion?: string }): Promise<StoredObject> => {
      const object = widget(namespace, 'a', { size: 1 })
      const metadata = { ...object.metadata, ...is }
      return api.apply({ kind: WIDGETS, object: { ...object, metadata }, force: true }, signal)
    }

    const withUid = await errorOf(() => apply({ uid: OTHER_UID }))
    const made = await apply({ resourceVersion: ABSENT })
    const again = await errorOf(() => apply({ resourceVersion: ABSENT }))

    expect([withUid, again].map(classifyError)).to.deep.equal(['conflict', 'conflict'])
    expect(made.metadata.uid).to.not.equal(OTHER_UID)
    expect(made.metadata.generation).to.equal(1)
  })
}

function describeDeletes(open: () => Promise<ApiWorld>): void {
  it('deletes the object that was read, and no other', async () => {
    await using world = await open()
    const { api, namespace } = world
    const { metadata } = await api.create(CONFIG_MAPS, configMap(namespace, 'a', {}), signal)
    const { uid, resourceVersion } = metadata
    const ref = refOf(CONFIG_MAPS, metadata)
    const remove = (is: { uid: string; resourceVersion: string }): Promise<void> =>
      api.delete({ ref, ...is, propagation: 'Background' }, signal)

    const wrongUid = await errorOf(() => remove({ uid: OTHER_UID, resourceVersion }))
    const wrongVersion = await errorOf(() => remove({ uid, resourceVersion: '1' }))
    await remove({ uid, resourceVersion })

    expect([wrongUid, wrongVersion].map(classifyError)).to.deep.equal(['conflict', 'conflict'])
    expect(await api.get(ref, signal)).to.equal(undefined)
    expect(await errorOf(() => remove({ uid, resourceVersion }))).to.include({ status: 404 })
  })

  it('keeps an object until its last finalizer is removed', async () => {
    await using world = await open()
    const { api, namespace } = world
    const object = widget(namespace, 'a', {})
    const metadata = { ...object.metadata, finalizers: ['quarry.dev/test'] }
    const created = await api.create(WIDGETS, { ...object, metadata }, signal)
    const ref = refOf(WIDGETS, created.metadata)
    const { uid, resourceVersion } = created.metadata
    await api.delete({ ref, uid, resourceVersion, propagation: 'Foreground' }, signal)

    const leaving = await api.get(ref, signal)
    const patch = { type: 'merge', value: { metadata: { finalizers: null } } } as const
    await api.patch({ ref, patch, part: 'object' }, signal)

    expect(leaving?.metadata.deletionTimestamp).to.be.a('string')
    expect(await api.get(ref, signal)).to.equal(undefined)
  })
}

function describeWatches(open: () => Promise<ApiWorld>): void {
  it('watches each change after a version once, in order', async () => {
    await using world = await open()
    const { api, namespace } = world
    const first = await api.create(WIDGETS, widget(namespace, 'a', { size: 1 }), signal)
    const { resourceVersion } = await api.list(
      selecting(WIDGETS, namespace),
      { limit: LIST_LIMIT, continueToken: '' },
      signal,
    )
    const ref = refOf(WIDGETS, first.metadata)
    const merge = (value: unknown): Promise<StoredObject> =>
      api.patch({ ref, patch: { type: 'merge', value }, part: 'object' }, signal)
    await api.create(WIDGETS, widget(namespace, 'b', { size: 1 }), signal)
    const request = { ...selecting(WIDGETS, namespace), resourceVersion, timeoutSeconds: 60 }
    const seen = takeEvents(api.watch(request, signal), 3)

    const { metadata } = await merge({ spec: { size: 2 } })
    const { uid } = metadata
    await api.delete(
      { ref, uid, resourceVersion: metadata.resourceVersion, propagation: 'Background' },
      signal,
    )

    const changes = (await seen).map(({ type, object }) => [
      type,
      object.metadata.name,
      object['spec'],
    ])
    expect(changes).to.deep.equal([
      ['added', 'b', { size: 1 }],
      ['modified', 'a', { size: 2 }],
      ['deleted', 'a', { size: 2 }],
    ])
  })

  it('tells what leaves its selection as deleted', async () => {
    await using world = await open()
    const { api, namespace } = world
    const { metadata } = await api.create(WIDGETS, widget(namespace, 'a', {}, { is: 'in' }), signal)
    const selection = selecting(WIDGETS, namespace, 'is=in')
    const { resourceVersion } = metadata
    const seen = takeEvents(
      api.watch({ ...selection, resourceVersion, timeoutSeconds: 60 }, signal),
      1,
    )
    const patch = { type: 'merge', value: { metadata: { labels: { is: 'out' } } } } as const

    await api.patch({ ref: refOf(WIDGETS, metadata), patch, part: 'object' }, signal)

    expect((await seen).map(({ type }) => type)).to.deep.equal(['deleted'])
  })

  it('ends a watch with its signal', async () => {
    await using world = await open()
    const { api, namespace } = world
    const { metadata } = await api.create(WIDGETS, widget(namespace, 'a', {}), signal)
    const stop = new AbortController()
    const { resourceVersion } = metadata
    const request = { ...selecting(WIDGETS, namespace), resourceVersion, timeoutSeconds: 60 }
    const seen = takeEvents(api.watch(request, stop.signal), 2)
    const reason = new Error('enough')

    await api.create(WIDGETS, widget(namespace, 'b', {}), signal)
    stop.abort(reason)

    expect(await errorOf(() => seen)).to.equal(reason)
  })
}

type Change = Exclude<WatchEvent, { type: 'bookmark' }>

/** The first changes of a watch, without bookmarks. */
async function takeEvents(events: AsyncIterable<WatchEvent>, count: number): Promise<Change[]> {
  const taken: Change[] = []
  for await (const event of events) {
    if (event.type !== 'bookmark') taken.push(event)
    if (taken.length === count) break
  }
  return taken
}

function namesOf(items: readonly StoredObject[]): readonly string[] {
  return items.map(({ metadata }) => metadata.name)
}
