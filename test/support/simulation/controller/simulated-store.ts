import type { Commit, CommitOutcome } from '../../../../node/coordination/coordination.ts'
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
}

/** The coordination store: linearizable, with a log of all events that watchers read at their own pace. */
export class SimulatedStore {
  readonly #entries = new Map<string, Entry>()
  readonly events: StoreEvent[] = []
  revision = 0
  nowMs = 0

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  *list(prefix: string): Iterable<readonly [string, Entry]> {
    for (const found of this.#entries) if (found[0].startsWith(prefix)) yield found
  }

  commit(commit: Commit): CommitOutcome {
    checkCommit(commit)
    const holds = commit.when.every(
      ({ key, modRevision }) => (this.#entries.get(key)?.modRevision ?? 0) === modRevision,
    )
    if (!holds) return { kind: 'conflict', entries: [] }
    this.revision += 1
    for (const change of commit.changes) {
      const { key } = change
      const value = change.type === 'put' ? change.value : undefined
      if (value === undefined) this.#entries.delete(key)
      else this.#entries.set(key, { value, modRevision: this.revision })
      this.events.push({ key, value, revision: this.revision, atMs: this.nowMs })
    }
    return { kind: 'committed', revision: this.revision }
  }

  put(key: string, value: Uint8Array): void {
    this.commit({ when: [], changes: [{ type: 'put', key, value }] })
  }

  delete(key: string): void {
    if (this.#entries.has(key)) this.commit({ when: [], changes: [{ type: 'delete', key }] })
  }
}
