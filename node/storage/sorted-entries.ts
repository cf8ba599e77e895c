// A persistent sorted map. A change makes a new map that shares all but a few chunks with the old
// one. So a snapshot is a reference, and an old version costs almost no memory.
//
// Invariants:
//   S1  No chunk is empty; keys strictly increase within a chunk and from chunk to chunk.
//   S2  Nothing reachable from a SortedEntries ever changes.

import type { KvEntry, KvOp, KvRange } from './kv-store.ts'

/** At this size, copying the pointers of a chunk is cheaper than a tree. */
const CHUNK_ENTRIES_MAX = 512

type Chunk = readonly KvEntry[]

interface Position {
  readonly chunk: number
  readonly index: number
}

/** One version of the map. */
export class SortedEntries {
  static readonly empty = new SortedEntries([])
  readonly #chunks: readonly Chunk[]

  private constructor(chunks: readonly Chunk[]) {
    this.#chunks = chunks
  }

  get(key: Uint8Array): Buffer | undefined {
    const { chunk, index } = seek(this.#chunks, key)
    const entry = this.#chunks[chunk]?.[index]
    return entry !== undefined && entry[0].equals(key) ? entry[1] : undefined
  }

  /** The map after `ops`. Copies their bytes. */
  with(ops: readonly KvOp[]): SortedEntries {
    const chunks = [...this.#chunks]
    for (const op of ops) applyTo(chunks, op)
    return new SortedEntries(chunks)
  }

  /** The entries of the range in its order, without copies. */
  *walk(range: KvRange): Generator<KvEntry, void> {
    let left = range.limit ?? Infinity
    let at = range.reverse === true ? this.#lastOf(range) : this.#firstOf(range)
    while (left > 0) {
      const entry = this.#chunks[at.chunk]?.[at.index]
      if (entry === undefined || isPast(range, entry[0])) return
      yield entry
      left -= 1
      at = range.reverse === true ? this.#before(at) : this.#after(at)
    }
  }

  #firstOf({ gte, gt }: KvRange): Position {
    if (gte !== undefined) return this.#normal(seek(this.#chunks, gte))
    if (gt === undefined) return { chunk: 0, index: 0 }
    const at = this.#normal(seek(this.#chunks, gt))
    return this.#chunks[at.chunk]?.[at.index]?.[0].equals(gt) === true ? this.#after(at) : at
  }

  #lastOf({ lt, lte }: KvRange): Position {
    if (lte !== undefined) {
      const at = this.#normal(seek(this.#chunks, lte))
      return this.#chunks[at.chunk]?.[at.index]?.[0].equals(lte) === true ? at : this.#before(at)
    }
    const end = { chunk: this.#chunks.length, index: 0 }
    return this.#before(lt === undefined ? end : seek(this.#chunks, lt))
  }

  /** Moves a position behind a chunk's end to the beginning of the next chunk. */
  #normal(at: Position): Position {
    const past = at.index >= (this.#chunks[at.chunk]?.length ?? 0)
    return past ? { chunk: at.chunk + 1, index: 0 } : at
  }

  #after({ chunk, index }: Position): Position {
    return this.#normal({ chunk, index: index + 1 })
  }

  #before({ chunk, index }: Position): Position {
    if (index > 0) return { chunk, index: index - 1 }
    return { chunk: chunk - 1, index: (this.#chunks[chunk - 1]?.length ?? 0) - 1 }
  }
}

function applyTo(chunks: Chunk[], op: KvOp): void {
  const at = seek(chunks, op.key)
  const chunk = chunks[at.chunk] ?? []
  const replaced = chunk[at.index]?.[0].equals(op.key) === true ? 1 : 0
  const added: KvEntry[] =
    op.type === 'put' ? [[Buffer.copyBytesFrom(op.key), Buffer.copyBytesFrom(op.value)]] : []
  const changed = chunk.toSpliced(at.index, replaced, ...added)
  if (changed.length === 0) {
    chunks.splice(at.chunk, 1)
  } else if (changed.length > CHUNK_ENTRIES_MAX) {
    const half = changed.length >> 1
    chunks.splice(at.chunk, 1, changed.slice(0, half), changed.slice(half))
  } else {
    chunks[at.chunk] = changed
  }
}

/**
 * The position of `key`, or the position where it belongs: in the last chunk that does not begin
 * behind it.
 */
function seek(chunks: readonly Chunk[], key: Uint8Array): Position {
  const isBehind = (entry: KvEntry | undefined): boolean =>
    entry !== undefined && entry[0].compare(key) > 0
  const later = firstIndex(chunks.length, (index) => isBehind(chunks[index]?.[0]))
  const chunk = Math.max(0, later - 1)
  const entries = chunks[chunk] ?? []
  const index = firstIndex(entries.length, (at) => (entries[at]?.[0].compare(key) ?? 0) >= 0)
  return { chunk, index }
}

/**
 * The first index below `count` for which `holds`; `count` if there is none. `holds` must stay true
 * once it is.
 */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function isPast({ reverse, lt, lte, gte, gt }: KvRange, key: Buffer): boolean {
  if (reverse === true) {
    if (gte !== undefined) return key.compare(gte) < 0
    return gt !== undefined && key.compare(gt) <= 0
  }
  if (lte !== undefined) return key.compare(lte) > 0
  return lt !== undefined && key.compare(lt) >= 0
}
