// A walk over the documents of a shard, for those that nobody knows to be enriched.

import { documentKey, keyOfDocumentKey, keyspaceRange } from '../shard/format/keyspace.ts'
import { isDeleted } from '../shard/format/document-record.ts'
import type { WalkedSpan } from '../shard/command/enrich-command.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type { Ending } from './ending.ts'
import type { KeyTasks } from './key-tasks.ts'
import { OrderedWork } from './ordered-work.ts'

/** Documents read at once, of which only the keys stay in memory. */
const PAGE_KEYS = 256

/** Where a walk is, and who looks at what it finds. */
export interface TableWalkOptions {
  readonly store: KvStore
  readonly spans: readonly WalkedSpan[]
  readonly tasks: KeyTasks
  readonly ending: Ending
}

/** Walks spans of keys in order. Keys that come into a span behind the walk come by the log. */
export class TableWalk {
  readonly #with: TableWalkOptions
  #spans: readonly WalkedSpan[]
  #work = new OrderedWork<WalkMark>()
  /** Documents of the pages that were begun. */
  #documents = 0
  /** Documents that have got a task. */
  #begun = 0
  /** Documents of the spans that are done. */
  #documentsBefore = 0
  /** The keys of a table that is not on the disk yet, whose bytes nobody can tell. */
  #keysInMemory = 0

  constructor(options: TableWalkOptions) {
    this.#with = options
    this.#spans = options.spans
  }

  /** What is not done yet. */
  get left(): readonly WalkedSpan[] {
    const [first, ...rest] = this.#spans
    if (first === undefined) return []
    return [{ after: this.#work.completed?.key ?? first.after, last: first.last }, ...rest]
  }

  /** Documents that are done, in whole pages. */
  get documents(): number {
    return this.#work.completed?.documents ?? this.#documentsBefore
  }

  /** Documents that were not begun, at most, if the table has at most `documentsMax`. */
  documentsLeft(documentsMax: number): number {
    if (this.#spans.length === 0) return 0
    return Math.max(1, documentsMax - this.#begun)
  }

  /** Resolves when all is done; rejects at the end. */
  async run(): Promise<void> {
    if (this.#spans.length > 0) this.#keysInMemory = await this.#countInMemory()
    for (let span = this.#spans[0]; span !== undefined; span = this.#spans[0]) {
      await this.#walk(span)
      await this.#work.idle(this.#with.ending)
      this.#documentsBefore = this.documents
      this.#spans = this.#spans.slice(1)
      this.#work = new OrderedWork()
    }
  }

  /** How much of the table is done, from 0 to 1, by bytes; by keys where the table is in memory alone. */
  async progress(): Promise<number> {
    const { store } = this.#with
    const { gte, lt } = keyspaceRange('documents')
    const total = await store.approximateBytes({ gte, lt })
    if (total === 0) {
      const share = this.documents / Math.max(1, this.#keysInMemory)
      return this.#spans.length === 0 ? 1 : Math.min(1, share)
    }
    let left = 0
    for (const { after, last } of this.left) {
      const from = after === undefined ? gte : documentKey(after)
      const to = last === undefined ? lt : documentKey(last)
      left += await store.approximateBytes({ gte: from, lt: to })
    }
    return Math.min(1, Math.max(0, 1 - left / total))
  }

  /** A table in memory is small; others are not counted. */
  async #countInMemory(): Promise<number> {
    const { store, ending } = this.#with
    const range = keyspaceRange('documents')
    if ((await store.approximateBytes(range)) > 0) return 0
    let count = 0
    for await (const page of store.pages(range)) {
      if (ending.isOver) break
      count += page.length
    }
    return count
  }

  async #walk({ after, last }: WalkedSpan): Promise<void> {
    const { store, tasks } = this.#with
    const end = last ?? (await lastKey(store))
    if (end === undefined) return
    for (let from = after; ;) {
      const page = await readKeys(store, from, end)
      if (page === undefined) return
      this.#documents += page.live.length
      const unit = this.#work.begin({ key: page.last, documents: this.#documents })
      for (const key of page.live) {
        await tasks.room('walk')
        tasks.take(key, 'walk', unit)
        this.#begun += 1
      }
      unit.close()
      from = page.last
    }
  }
}

/** How far a walk is: its last key, and the documents up to there since it began. */
interface WalkMark {
  readonly key: Buffer
  readonly documents: number
}

interface KeyPage {
  readonly live: readonly Buffer[]
  /** The last key, deleted or not. */
  readonly last: Buffer
}

async function readKeys(
  store: KvStore,
  after: Buffer | undefined,
  end: Buffer,
): Promise<KeyPage | undefined> {
  const { gte } = keyspaceRange('documents')
  const from = after === undefined ? { gte } : { gt: documentKey(after) }
  for await (const page of store.pages({ ...from, lte: documentKey(end), limit: PAGE_KEYS })) {
    const live = page.filter(([, record]) => !isDeleted(record)).map(([stored]) => keyIn(stored))
    const last = page.at(-1)?.[0]
    return last && { live, last: keyIn(last) }
  }
  return undefined
}

async function lastKey(store: KvStore): Promise<Buffer | undefined> {
  const all = keyspaceRange('documents')
  for await (const page of store.pages({ ...all, reverse: true, limit: 1 })) {
    const stored = page[0]?.[0]
    return stored && keyIn(stored)
  }
  return undefined
}

/** A copy, which does not keep the page in memory. */
function keyIn(stored: Buffer): Buffer {
  return Buffer.from(keyOfDocumentKey(stored))
}
