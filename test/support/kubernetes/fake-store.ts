// The objects of a fake API server: their versions, and the history that watches read.

import { isDeepStrictEqual } from 'node:util'
import { must } from '../../../lib/assert.ts'
import { apiErrorOf } from '../../../operator/runtime/api/api-error.ts'
import { apiVersionOf, keyOf, storedObjectOf } from '../../../operator/runtime/api/api-object.ts'
import type { ResourceKind, StoredObject } from '../../../operator/runtime/api/api-object.ts'
import type { Selection } from '../../../operator/runtime/api/kubernetes-api.ts'
import { FieldOwners } from './field-owners.ts'
import { recordOf } from './json-merge.ts'
import type { Json } from './json-merge.ts'

/** A kind as the fake serves it. */
export interface FakeKind extends ResourceKind {
  /** Whether it has a status of its own, and counts the changes of everything else in `generation`. */
  readonly hasStatus: boolean
}

/** One change. `previous` is what the object was, for selections that it left. */
export interface FakeChange {
  readonly version: number
  readonly kind: ResourceKind
  readonly object: StoredObject
  readonly previous: StoredObject | undefined
  readonly isDeletion: boolean
}

export interface FakeEntry {
  readonly kind: FakeKind
  object: StoredObject
  readonly owners: FieldOwners
}

export function refusal(status: number, reason: string, message = reason): Error {
  return apiErrorOf(status, { reason, message })
}

/** Contract: each change has the next version, and `changes` has all of them since the last compaction. */
export class FakeStore {
  readonly #entries = new Map<string, FakeEntry>()
  #changes: FakeChange[] = []
  #version = 100
  #compacted = 100
  #uids = 0
  #listeners = new Set<() => void>()

  get version(): number {
    return this.#version
  }

  entry(kind: ResourceKind, namespace: string, name: string): FakeEntry | undefined {
    return this.#entries.get(idOf(kind, keyOf({ namespace, name })))
  }

  /** The objects of a selection, as they were at a version, in the order of their names. */
  select(selection: Selection, version = this.#version): readonly StoredObject[] {
    const at = new Map([...this.#entries].map(([id, { object }]) => [id, object] as const))
    for (const change of this.#changes.toReversed()) {
      if (change.version <= version) break
      const id = idOf(change.kind, keyOf(change.object.metadata))
      if (change.previous === undefined) at.delete(id)
      else at.set(id, change.previous)
    }
    return [...at]
      .filter(([id, object]) => id.startsWith(idOf(selection.kind, '')) && isIn(selection, object))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
  }

  changesAfter(version: number): readonly FakeChange[] {
    if (version < this.#compacted) throw refusal(410, 'Expired', 'too old resource version')
    return this.#changes.filter((change) => change.version > version)
  }

  insert(kind: FakeKind, namespace: string, content: Json): FakeEntry {
    this.#uids += 1
    const metadata = { ...recordOf(content['metadata']), uid: `uid-${this.#uids}` }
    const named = kind.namespaced ? { ...metadata, namespace } : metadata
    const generation = kind.hasStatus ? { generation: 1 } : {}
    const object = this.#versioned({ ...content, metadata: { ...named, ...generation } }, kind)
    const entry = { kind, object, owners: new FieldOwners() }
    this.#entries.set(idOf(kind, keyOf(object.metadata)), entry)
    this.#note({ kind, object, previous: undefined, isDeletion: false })
    return entry
  }

  /** Writes a new content. One that equals the old content changes nothing. */
  update(entry: FakeEntry, content: Json): void {
    const previous = entry.object
    if (isDeepStrictEqual(withoutVersion(content), withoutVersion(previous))) return
    const metadata = { ...recordOf(content['metadata']) }
    if (entry.kind.hasStatus && !isDeepStrictEqual(wishOf(content), wishOf(previous))) {
      metadata['generation'] = (previous.metadata.generation ?? 0) + 1
    }
    entry.object = this.#versioned({ ...content, metadata }, entry.kind)
    const { deletionTimestamp, finalizers = [] } = entry.object.metadata
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.#drop(entry, previous)
    else this.#note({ kind: entry.kind, object: entry.object, previous, isDeletion: false })
  }

  remove(entry: FakeEntry): void {
    const previous = entry.object
    entry.object = this.#versioned({ ...previous }, entry.kind)
    this.#drop(entry, previous)
  }

  /** Forgets the history: watches from before are refused. */
  compact(): void {
    this.#compacted = this.#version
    this.#changes = []
  }

  /** Nothing but time passes: a bookmark has a new version. */
  tick(): number {
    this.#version += 1
    return this.#version
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #drop(entry: FakeEntry, previous: StoredObject): void {
    this.#entries.delete(idOf(entry.kind, keyOf(entry.object.metadata)))
    this.#note({ kind: entry.kind, object: entry.object, previous, isDeletion: true })
  }

  #versioned(content: Json, kind: ResourceKind): StoredObject {
    this.#version += 1
    const metadata = { ...recordOf(content['metadata']), resourceVersion: String(this.#version) }
    const object = { ...content, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }
    return must(storedObjectOf(structuredClone(object), kind), 'stored object')
  }

  #note(change: Omit<FakeChange, 'version'>): void {
    this.#changes.push({ ...change, version: this.#version })
    for (const listener of this.#listeners) listener()
  }
}

export function isIn({ namespace, labelSelector }: Selection, { metadata }: StoredObject): boolean {
  if (namespace !== '' && metadata.namespace !== namespace) return false
  const terms = labelSelector === '' ? [] : labelSelector.split(',')
  return terms.every((term) => {
    const [name = '', value = ''] = term.split('=')
    return metadata.labels?.[name] === value
  })
}

function idOf({ group, plural }: ResourceKind, key: string): string {
  return `${group}|${plural}|${key}`
}

function withoutVersion(content: Json): Json {
  const { resourceVersion: _, generation: __, ...metadata } = recordOf(content['metadata'])
  return { ...content, metadata }
}

/** What `generation` counts: all but status and metadata, and the wish to be gone. */
function wishOf(content: Json): Json {
  const { status: _, metadata, ...rest } = content
  return { ...rest, deletion: recordOf(metadata)['deletionTimestamp'] }
}
