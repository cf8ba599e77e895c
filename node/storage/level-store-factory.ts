// Stores as children of one directory: <root>/<name>/ is a LevelDB, <root>/<name>.removed/ is what
// is left of one whose removal was interrupted. Format: docs/formats/data-directory.md.

import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { syncDirectory } from './durable-file.ts'
import type { KvStoreFactory } from './kv-store.ts'
import { LevelKvStore } from './level-kv-store.ts'
import type { LevelOptions } from './level-kv-store.ts'

/** Our own names, never a user's: so a wrong one is a bug and not a refusal. */
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/
const REMOVED = '.removed'
const MIB = 1024 * 1024

/** Few stores get much each, many stores share it. */
interface Budget {
  readonly totalBytes: number
  readonly minBytes: number
  readonly maxBytes: number
}

/** Large ones spare compaction. */
const WRITE_BUFFERS: Budget = { totalBytes: 64 * MIB, minBytes: 4 * MIB, maxBytes: 24 * MIB }
/** Large ones spare unpacking a block for every lookup. */
const BLOCK_CACHES: Budget = { totalBytes: 128 * MIB, minBytes: 8 * MIB, maxBytes: 64 * MIB }

/** LevelDB's own log: the memory of a store that has no table file yet. */
const LEVEL_LOG = /^\d+\.log$/

export interface LevelStoreOptions extends LevelOptions {
  /**
   * What opening a store does with LevelDB's own log. Across a power failure that log may lose writes in
   * its middle; without it, a store is what it was at its last flush, and whoever keeps a log of his
   * own writes what is missing again.
   */
  readonly ownLog: 'replay' | 'discard'
}

/** A store must be closed before it is destroyed or opened again. */
export class LevelStoreFactory implements KvStoreFactory {
  readonly #root: string
  readonly #options: LevelStoreOptions
  readonly #open = new Set<string>()

  private constructor(root: string, options: LevelStoreOptions) {
    this.#root = root
    this.#options = options
  }

  /** Creates `root` when it is missing, and finishes removals that a crash interrupted. */
  static async open(root: string, options: LevelStoreOptions): Promise<LevelStoreFactory> {
    const created = await mkdir(root, { recursive: true, mode: 0o700 })
    if (created !== undefined) await syncDirectory(path.dirname(root))
    const factory = new LevelStoreFactory(root, options)
    await factory.#removeLeftovers()
    return factory
  }

  async open(name: string): Promise<LevelKvStore> {
    const directory = this.#directoryOf(name)
    if (this.#open.has(name)) throw heldError(directory)
    const isNew = !(await exists(directory))
    if (!isNew && this.#options.ownLog === 'discard') await discardLog(directory)
    const storeCount = (await this.list()).length + (isNew ? 1 : 0)
    const store = await LevelKvStore.open(directory, {
      writeBufferBytes: shareOf(WRITE_BUFFERS, storeCount),
      cacheBytes: shareOf(BLOCK_CACHES, storeCount),
      ...this.#options,
    })
    if (isNew) await syncDirectory(this.#root)
    this.#open.add(name)
    store.onClosed(() => this.#open.delete(name))
    return store
  }

  async destroy(name: string): Promise<void> {
    const directory = this.#directoryOf(name)
    if (!(await exists(directory))) return
    // The renaming is the removal: from here on no crash brings half a store back.
    const removed = `${directory}${REMOVED}`
    await rm(removed, { recursive: true, force: true })
    await rename(directory, removed)
    await syncDirectory(this.#root)
    await rm(removed, { recursive: true, force: true })
  }

  async list(): Promise<readonly string[]> {
    const children = await readdir(this.#root, { withFileTypes: true })
    return children
      .filter((child) => child.isDirectory() && NAME.test(child.name))
      .map((child) => child.name)
      .toSorted()
  }

  async #removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.#root)) {
      if (!name.endsWith(REMOVED) || !NAME.test(name.slice(0, -REMOVED.length))) continue
      await rm(path.join(this.#root, name), { recursive: true, force: true })
    }
  }

  #directoryOf(name: string): string {
    assert(NAME.test(name), `a store name matches ${NAME}: "${name}"`)
    return path.join(this.#root, name)
  }
}

function shareOf({ totalBytes, minBytes, maxBytes }: Budget, storeCount: number): number {
  return Math.min(maxBytes, Math.max(minBytes, Math.floor(totalBytes / storeCount)))
}

async function discardLog(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (LEVEL_LOG.test(name)) await rm(path.join(directory, name))
  }
}

function heldError(directory: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `${directory} is open already; close it first`)
}

async function exists(directory: string): Promise<boolean> {
  try {
    await access(directory)
    return true
  } catch {
    return false
  }
}
