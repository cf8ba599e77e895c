// An API server of Kubernetes in memory. It is held to the same suite as a real one, as far as `KubernetesApi` goes; on top
// of that, tests can make it fail in the ways in which real ones do. No controller and no garbage collector runs in it, and
// server-side apply takes lists as a whole.

import type { Clock } from '../../../lib/clock.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { refOf } from '../../../operator/runtime/api/api-object.ts'
import type {
  ApiObject,
  ObjectRef,
  ResourceKind,
  StoredObject,
} from '../../../operator/runtime/api/api-object.ts'
import { FIELD_MANAGER } from '../../../operator/runtime/api/kubernetes-api.ts'
import type {
  ApplyRequest,
  DeleteRequest,
  KubernetesApi,
  ListPage,
  PatchRequest,
  Selection,
  WatchEvent,
  WatchRequest,
} from '../../../operator/runtime/api/kubernetes-api.ts'
import { errorOfFault, FakeFaults } from './fake-faults.ts'
import type { FakeFault, Verb } from './fake-faults.ts'
import { FakeStore, refusal } from './fake-store.ts'
import type { FakeEntry, FakeKind } from './fake-store.ts'
import { FakeWatch } from './fake-watch.ts'
import type { WatchEnd } from './fake-watch.ts'
import { merged, patched, recordOf } from './json-merge.ts'
import type { Json } from './json-merge.ts'

/** A request that the server carried out or refused. */
export interface FakeRequest {
  readonly verb: Verb
  readonly plural: string
  readonly name: string
}

export class FakeKubernetes implements KubernetesApi {
  readonly store = new FakeStore()
  readonly faults = new FakeFaults()
  /** Every request, in order. */
  readonly requests: FakeRequest[] = []
  readonly #clock: Clock
  readonly #kinds = new Map<string, FakeKind>()
  readonly #watches = new Set<FakeWatch>()
  readonly #pages = new Map<string, readonly StoredObject[]>()
  #staleLists: { version: number; left: number } = { version: 0, left: 0 }
  #held: PromiseWithResolvers<void> | undefined
  deliversTwice = false

  constructor(clock: Clock, kinds: readonly FakeKind[]) {
    this.#clock = clock
    for (const kind of kinds) this.serve(kind)
  }

  /** The history is compacted: earlier versions and continue tokens are refused. */
  compact(): void {
    this.store.compact()
    this.#pages.clear()
  }

  /** A CRD was created or removed. */
  serve(kind: FakeKind): void {
    this.#kinds.set(`${kind.group}|${kind.plural}`, kind)
  }

  unserve(kind: ResourceKind): void {
    this.#kinds.delete(`${kind.group}|${kind.plural}`)
    this.endWatches({ kind: 'closed' })
  }

  endWatches(end: WatchEnd): void {
    for (const watch of this.#watches) watch.end(end)
  }

  /** All watches fall silent, and nobody is told. */
  stallWatches(): void {
    for (const watch of this.#watches) watch.isStalled = true
  }

  get watchCount(): number {
    return this.#watches.size
  }

  /** Lists answer what was there at that version, as a server that lags behind does. */
  serveStaleLists(version: number, times: number): void {
    this.#staleLists = { version, left: times }
  }

  /** No request is answered until the returned function is called. */
  hold(): () => void {
    const held = Promise.withResolvers<void>()
    this.#held = held
    return () => {
      this.#held = undefined
      held.resolve()
    }
  }

  async list(
    selection: Selection,
    { limit, continueToken }: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ListPage> {
    await this.#enter('list', refOf(selection.kind, { name: '' }), signal)
    this.#kindOf(selection.kind)
    const [version = '', offset = '0'] = continueToken.split(':')
    const first = continueToken === '' ? this.#listed(selection) : undefined
    const at = first?.version ?? version
    const items = first?.items ?? this.#pages.get(version)
    if (items === undefined) throw refusal(410, 'Expired', 'the continue token is outdated')
    this.#pages.set(at, items)
    const end = Number(offset) + limit
    return {
      items: items.slice(Number(offset), end).map((object) => structuredClone(object)),
      resourceVersion: at,
      continueToken: end < items.length ? `${at}:${end}` : '',
    }
  }

  async *watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    await this.#enter('watch', refOf(request.kind, { name: '' }), signal)
    this.#kindOf(request.kind)
    const watch = new FakeWatch(this.store, request, this.#clock)
    watch.deliversTwice = this.deliversTwice
    this.#watches.add(watch)
    try {
      for await (const event of watch.events(signal)) yield structuredClone(event)
    } finally {
      this.#watches.delete(watch)
    }
  }

  async get(ref: ObjectRef, signal: AbortSignal): Promise<StoredObject | undefined> {
    await this.#enter('get', ref, signal)
    return structuredClone(this.#entryOf(ref)?.object)
  }

  create(kind: ResourceKind, object: ApiObject, signal: AbortSignal): Promise<StoredObject> {
    return this.#write('create', refOf(kind, object.metadata), signal, (served, ref) => {
      if (this.#entryOf(ref) !== undefined) throw refusal(409, 'AlreadyExists')
      const { status: _, ...content } = object
      const entry = this.store.insert(served, ref.namespace, this.#born(content))
      entry.owners.noteWrite(`${FIELD_MANAGER}/Update`, {}, content)
      return entry
    })
  }

  replace(kind: ResourceKind, object: StoredObject, signal: AbortSignal): Promise<StoredObject> {
    return this.#write('replace', refOf(kind, object.metadata), signal, (_served, ref) => {
      const entry = this.#presentEntry(ref)
      if (object.metadata.resourceVersion !== entry.object.metadata.resourceVersion) {
        throw refusal(409, 'Conflict', 'the object has been modified')
      }
      return this.#change(entry, object, 'object')
    })
  }

  apply({ kind, object, force }: ApplyRequest, signal: AbortSignal): Promise<StoredObject> {
    return this.#write('apply', refOf(kind, object.metadata), signal, (served, ref) => {
      const owner = `${FIELD_MANAGER}/Apply`
      const found = this.#entryOf(ref)
      checkIdentity(object, found?.object)
      const entry = found ?? this.store.insert(served, ref.namespace, this.#born({ ...object }))
      const { status: _, apiVersion, kind: word, metadata, ...rest } = object
      const wish = served.hasStatus ? { apiVersion, kind: word, metadata, ...rest } : object
      const content = entry.owners.apply({ ...entry.object }, wish, { owner, force })
      this.store.update(entry, content)
      return entry
    })
  }

  patch({ ref, patch, part }: PatchRequest, signal: AbortSignal): Promise<StoredObject> {
    return this.#write('patch', ref, signal, () => {
      const entry = this.#presentEntry(ref)
      const live = { ...entry.object }
      const content =
        patch.type === 'json' ? patched(live, patch.steps) : recordOf(merged(live, patch.value))
      if (content === undefined) throw refusal(409, 'Conflict', 'a test of the patch does not hold')
      const { uid, resourceVersion } = recordOf(content['metadata'])
      if (uid !== live.metadata.uid || resourceVersion !== live.metadata.resourceVersion) {
        throw refusal(409, 'Conflict', 'the object has been modified')
      }
      return this.#change(entry, content, part)
    })
  }

  async delete(request: DeleteRequest, signal: AbortSignal): Promise<void> {
    await this.#write('delete', request.ref, signal, () => {
      const entry = this.#presentEntry(request.ref)
      const { uid, resourceVersion, finalizers = [], ...metadata } = entry.object.metadata
      if (uid !== request.uid || resourceVersion !== request.resourceVersion) {
        throw refusal(409, 'Conflict', 'the precondition does not hold')
      }
      if (finalizers.length === 0) this.store.remove(entry)
      else if (metadata.deletionTimestamp === undefined) {
        const deletionTimestamp = new Date(this.#clock.nowMs()).toISOString()
        const gone = { ...metadata, uid, resourceVersion, finalizers, deletionTimestamp }
        this.store.update(entry, { ...entry.object, metadata: gone })
      }
      return entry
    })
  }

  #listed(selection: Selection): {
    readonly items: readonly StoredObject[]
    readonly version: string
  } {
    const isStale = this.#staleLists.left > 0
    if (isStale) this.#staleLists.left -= 1
    const version = isStale ? this.#staleLists.version : this.store.version
    return { items: this.store.select(selection, version), version: String(version) }
  }

  async #enter(verb: Verb, { kind, name }: ObjectRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.requests.push({ verb, plural: kind.plural, name })
    if (this.#held !== undefined) await unlessAborted(this.#held.promise, signal)
    else await Promise.resolve()
    const fault =
      verb === 'list' || verb === 'watch' || verb === 'get' ? this.faults.take(verb) : undefined
    if (fault !== undefined) throw errorOfFault(fault)
  }

  async #write(
    verb: Verb,
    ref: ObjectRef,
    signal: AbortSignal,
    act: (kind: FakeKind, ref: ObjectRef) => FakeEntry,
  ): Promise<StoredObject> {
    await this.#enter(verb, ref, signal)
    const fault: FakeFault | undefined = this.faults.take(verb)
    if (fault !== undefined && fault.isDone !== true) throw errorOfFault(fault)
    const { object } = act(this.#kindOf(ref.kind), ref)
    if (fault !== undefined) throw errorOfFault(fault)
    return structuredClone(object)
  }

  #change(entry: FakeEntry, content: Json, part: 'object' | 'status'): FakeEntry {
    const before = { ...entry.object }
    const next = entry.kind.hasStatus ? onlyPart(before, content, part) : content
    this.store.update(entry, next)
    entry.owners.noteWrite(`${FIELD_MANAGER}/Update`, before, entry.object)
    return entry
  }

  #born(content: Json): Json {
    const creationTimestamp = new Date(this.#clock.nowMs()).toISOString()
    return { ...content, metadata: { ...recordOf(content['metadata']), creationTimestamp } }
  }

  #kindOf({ group, plural }: ResourceKind): FakeKind {
    const kind = this.#kinds.get(`${group}|${plural}`)
    if (kind === undefined) throw refusal(404, 'NotFound', 'the server could not find the resource')
    return kind
  }

  #entryOf({ kind, namespace, name }: ObjectRef): FakeEntry | undefined {
    if (!this.#kinds.has(`${kind.group}|${kind.plural}`)) return undefined
    return this.store.entry(kind, namespace, name)
  }

  #presentEntry(ref: ObjectRef): FakeEntry {
    const entry = this.#entryOf(ref)
    if (entry === undefined) throw refusal(404, 'NotFound', `${ref.name} not found`)
    return entry
  }
}

/** What is said of UID and version holds for the object that is there. An absent one has no UID, and any version. */
function checkIdentity({ metadata }: ApiObject, live: StoredObject | undefined): void {
  const { uid, resourceVersion } = metadata
  if (uid !== undefined && uid !== live?.metadata.uid) {
    throw refusal(409, 'Conflict', 'uid mismatch')
  }
  if (live === undefined || resourceVersion === undefined) return
  if (resourceVersion !== live.metadata.resourceVersion) {
    throw refusal(409, 'Conflict', 'the object has been modified')
  }
}

function onlyPart(before: Json, content: Json, part: 'object' | 'status'): Json {
  if (part === 'status') return { ...before, status: content['status'] }
  const { status: _, ...rest } = content
  return 'status' in before ? { ...rest, status: before['status'] } : rest
}
