import type {
  Commit,
  CommitOutcome,
  CoordinationEntry,
} from '../../../../node/coordination/coordination.ts'
import { checkCommit } from '../../../../node/coordination/coordination.ts'

/** A key that was written or deleted, by whom, and when. */
export interface StoreEvent {
  readonly key: string
  readonly value: Uint8Array | undefined
  readonly revision: number
  readonly atMs: number
}

interface Entry {
  readonly value: Uint8Array
  readonly modRevision: number
  readonly createRevision: number
}

/** The coordination store: linearizable, with a log of all events that watchers read at their own pace. */
export class SimulatedStore {
  /** By the first two names of their keys, so that a listing need not walk all of a large cluster. */
  readonly #folders = new Map<string, Map<string, Entry>>()
  readonly events: StoreEvent[] = []
  revision = 0
  nowMs = 0

  get(key: string): Entry | undefined {
    return this.#folders.get(folderOf(key))?.get(key)
  }

  *list(prefix: string): Iterable<readonly [string, Entry]> {
    for (const [folder, entries] of this.#folders) {
      if (!folder.startsWith(prefix) && !prefix.startsWith(folder)) continue
      for (const found of entries) if (found[0].startsWith(prefix)) yield found
    }
  }

  commit(commit: Commit): CommitOutcome {
    checkCommit(commit)
    const holds = commit.when.every((condition) => {
      const entry = this.get(condition.key)
      if ('createRevision' in condition) {
        return (entry?.createRevision ?? 0) === condition.createRevision
      }
      return (entry?.modRevision ?? 0) === condition.modRevision
    })
    if (!holds) return { kind: 'conflict', entries: this.#entriesOf(commit.when) }
    this.revision += 1
    for (const change of commit.changes) {
      const { key } = change
      const value = change.type === 'put' ? change.value : undefined
      if (value === undefined) this.#folders.get(folderOf(key))?.delete(key)
      else {
        const createRevision = this.get(key)?.createRevision ?? this.revision
        this.#folder(key).set(key, { value, modRevision: this.revision, createRevision })
      }
      this.events.push({ key, value, revision: this.revision, atMs: this.nowMs })
    }
    return { kind: 'committed', revision: this.revision }
  }

  put(key: string, value: Uint8Array): void {
    this.commit({ when: [], changes: [{ type: 'put', key, value }] })
  }

  delete(key: string): void {
    if (this.get(key) !== undefined) this.commit({ when: [], changes: [{ type: 'delete', key }] })
  }

  #entriesOf(when: Commit['when']): readonly CoordinationEntry[] {
    return [...new Set(when.map(({ key }) => key))].flatMap((key) => {
      const entry = this.get(key)
      return entry === undefined ? [] : [{ ...entry, key, value: Buffer.from(entry.value) }]
    })
  }

  #folder(key: string): Map<string, Entry> {
    const name = folderOf(key)
    const folder = this.#folders.get(name) ?? new Map<string, Entry>()
    this.#folders.set(name, folder)
    return folder
  }
}

function folderOf(key: string): string {
  return key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1)
}
