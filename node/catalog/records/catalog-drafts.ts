// Tables whose shards do not fit into one commit of the coordination store. Described in docs/reference/formats/catalog.md.
//
//   (nothing) ──draft──► shards, part by part ──table, no draft──► (published)
//                            │ creator fails                          │ table dropped
//                            └──────────► discarded ◄──table goes─────┘
//                                            └──► shards go, part by part ──► draft goes
//
// Invariants:
//   CD1  A table and its shards count from the commit that writes the table's record, and no longer than that
//        record is there: shards without a table are nobody's.
//   CD2  Each part, and the record, is written on the condition that the draft is as its creator wrote it. So
//        nothing is added to a draft that was discarded.
//   CD3  A draft goes after all of its shards. The node that repairs tables removes a discarded one,
//        and one that is not published in time.

import { ServiceError } from '../../../lib/errors.ts'
import {
  COMMIT_BYTES_MAX,
  OPS_PER_COMMIT_MAX,
  type Change,
  type Condition,
  type Coordination,
} from '../../coordination/coordination.ts'
import { shardPrefix } from './table-record.ts'

export const DRAFT_PREFIX = '/table-drafts/'
/** Writing all parts takes a second or two. A creator that takes longer has ended. */
const DRAFT_MS = 60_000
/** Keys in the store have a prefix of their own. */
const KEY_BYTES_MORE = 128

type DraftState = 'creating' | 'discarded'

interface SeenDraft {
  readonly modRevision: number
  readonly sinceMs: number
}

/** How a table is published. */
export interface Publication {
  readonly tableId: string
  /** Holds as long as no table has the name. */
  readonly isFree: Condition
  readonly table: Change
  readonly shards: readonly Change[]
}

/** Writes and removes tables in parts. */
export class CatalogDrafts {
  readonly #coordination: Coordination
  /** Drafts that are being written, and since when this node knows them as they are. */
  #seen = new Map<string, SeenDraft>()

  constructor(coordination: Coordination) {
    this.#coordination = coordination
  }

  /**
   * Answers false if the name is taken. Throws UNAVAILABLE when somebody has discarded the draft, or nobody
   * answers; then it is removed later.
   */
  async publish({ tableId, isFree, table, shards }: Publication): Promise<boolean> {
    const key = draftKey(tableId)
    const begun = await this.#coordination.commit({
      when: [isFree],
      changes: [putDraft(tableId, 'creating')],
    })
    if (begun.kind === 'conflict') return false
    const isOurs = { key, modRevision: begun.revision }
    for (const part of partsOf(shards)) {
      const written = await this.#coordination.commit({ when: [isOurs], changes: part })
      if (written.kind === 'conflict') throw tooLate()
    }
    const published = await this.#coordination.commit({
      when: [isFree, isOurs],
      changes: [table, { type: 'delete', key }],
    })
    if (published.kind === 'committed') return true
    const isTaken = published.entries.some((entry) => entry.key === isFree.key)
    await this.#discard(tableId, begun.revision)
    if (!isTaken) throw tooLate()
    return false
  }

  /** What to commit together with the end of a table. Call `clear` after it. */
  ending(tableId: string): Change {
    return putDraft(tableId, 'discarded')
  }

  /** Removes the shards of a discarded draft, and the draft. */
  async clear(tableId: string): Promise<void> {
    const { entries } = await this.#coordination.list(shardPrefix(tableId))
    for (const part of partsOf(entries.map(({ key }) => ({ type: 'delete', key })))) {
      await this.#coordination.commit({ when: [], changes: part })
    }
    const changes: Change[] = [{ type: 'delete', key: draftKey(tableId) }]
    await this.#coordination.commit({ when: [], changes })
  }

  /**
   * Removes what creators and droppers that have ended left behind. Call it now and then. `nowMs` is of a
   * monotonic clock; Infinity says that nobody can be writing a draft.
   */
  async clean(nowMs: number): Promise<void> {
    const { entries } = await this.#coordination.list(DRAFT_PREFIX)
    const seen = new Map<string, SeenDraft>()
    for (const { key, value, modRevision } of entries) {
      const tableId = key.slice(DRAFT_PREFIX.length)
      if (stateOf(value) === 'discarded') {
        await this.clear(tableId)
        continue
      }
      const before = this.#seen.get(key)
      const sinceMs = before?.modRevision === modRevision ? before.sinceMs : nowMs
      if (nowMs === Infinity || nowMs - sinceMs > DRAFT_MS) {
        await this.#discard(tableId, modRevision)
      } else seen.set(key, { modRevision, sinceMs })
    }
    this.#seen = seen
  }

  /** Does nothing if the draft was published or discarded since. */
  async #discard(tableId: string, modRevision: number): Promise<void> {
    const outcome = await this.#coordination.commit({
      when: [{ key: draftKey(tableId), modRevision }],
      changes: [putDraft(tableId, 'discarded')],
    })
    if (outcome.kind === 'committed') await this.clear(tableId)
  }
}

/** Whether the changes fit into one commit, beside a few conditions. */
export function fitTogether(changes: readonly Change[]): boolean {
  return partsOf(changes).length <= 1
}

function partsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const parts: Change[][] = []
  let bytes = Infinity
  for (const change of changes) {
    const more = bytesOf(change)
    let part = parts.at(-1)
    if (part === undefined || part.length === CHANGES_MAX || bytes + more > BYTES_MAX) {
      part = []
      parts.push(part)
      bytes = 0
    }
    part.push(change)
    bytes += more
  }
  return parts
}

/** With room for conditions: each key that is removed may have one. */
const CHANGES_MAX = OPS_PER_COMMIT_MAX - 2
const BYTES_MAX = COMMIT_BYTES_MAX / 2

function bytesOf(change: Change): number {
  const keyBytes = Buffer.byteLength(change.key) + KEY_BYTES_MORE
  return change.type === 'put' ? keyBytes + change.value.length : keyBytes
}

function draftKey(tableId: string): string {
  return DRAFT_PREFIX + tableId
}

function putDraft(tableId: string, state: DraftState): Change {
  const value = Buffer.from(JSON.stringify({ format: 1, state }))
  return { type: 'put', key: draftKey(tableId), value }
}

function stateOf(value: Buffer): DraftState {
  const { format, state }: { format?: unknown; state?: unknown } = JSON.parse(value.toString())
  if (format === 1 && (state === 'creating' || state === 'discarded')) return state
  throw new ServiceError('CORRUPTION', 'a draft of the catalog cannot be read')
}

function tooLate(): ServiceError {
  const problem = 'writing the table took too long, and nothing of it is left; create it again'
  return new ServiceError('UNAVAILABLE', problem)
}
