// Stores as children of one directory. <root>/<name>/ is a LevelDB; <root>/<name>.removed/ is a
// store whose removal was interrupted. Format: docs/reference/formats/data-directory.md.

import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { syncDirectory } from './file-replacement.ts'
import type { KvStoreFactory, OnCompacted } from './kv-store.ts'
import { LevelKvStore } from './level-kv-store.ts'
import type { LevelOptions } from './level-kv-store.ts'

/** Only this program makes store names, so a wrong name is a bug and not a refusal. */
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/
const REMOVED = '.removed'
const MIB = 1024 * 1024

/**
 * How stores share memory: each gets an equal share of the total, within the limits of one store.
 */
interface MemoryShare {
  readonly totalBytes: number
  readonly minBytes: number
  readonly maxBytes: number
}

/** A larger write buffer needs fewer compactions. */
const WRITE_BUFFERS: MemoryShare = { totalBytes: 64 * MIB, minBytes: 4 * MIB, maxBytes: 24 * MIB }
/** A larger cache unpacks fewer blocks for lookups. */
const BLOCK_CACHES: MemoryShare = { totalBytes: 128 * MIB, minBytes: 8 * MIB, maxBytes: 64 * MIB }

/** LevelDB's own log: the data of a store that has no table file yet. */
const LEVEL_LOG = /^\d+\.log$/

/** How the factory opens its stores. */
export interface LevelStoreOptions extends LevelOptions {
  /**
   * How `open` treats LevelDB's own log. After a power failure that log may lack writes in its
   * middle. With `discard`, a store opens as of its last flush, and the caller replays later writes
   * from its own log.
   */
  readonly ownLog: 'replay' | 'discard'
}

/**
 * A KvStoreFactory over one directory. A store must be closed before it is destroyed or opened
 * again.
 */
export class LevelStoreFactory implements KvStoreFactory {
  readonly #root: string
  readonly #options: LevelStoreOptions
  readonly #open = new Map<string, LevelKvStore>()
  #onDamage: (name: string, error: ServiceError) => void = () => undefined

  private constructor(root: string, options: LevelStoreOptions) {
    this.#root = root
    this.#options = options
  }

  /** Creates a missing `root`, and completes removals that a crash interrupted. */
  static async open(root: string, options: LevelStoreOptions): Promise<LevelStoreFactory> {
    const created = await mkdir(root, { recursive: true, mode: 0o700 })
    if (created !== undefined) await syncDirectory(path.dirname(root))
    const factory = new LevelStoreFactory(root, options)
    await factory.#removeLeftovers()
    return factory
  }

  /** From now on `listener` hears of each read or write of a store that met damage. It must not throw. */
  onDamage(listener: (name: string, error: ServiceError) => void): void {
    this.#onDamage = listener
  }

  /** The files of a store, for those who check them. */
  directoryOf(name: string): string {
    return this.#directoryOf(name)
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
      onDamage: (error) => this.#onDamage(name, error),
    })
    if (isNew) await syncDirectory(this.#root)
    this.#open.set(name, store)
    store.onClosed(() => this.#open.delete(name))
    return store
  }

  async destroy(name: string): Promise<void> {
    const directory = this.#directoryOf(name)
    if (!(await exists(directory))) return
    // The rename is the removal: after it, a crash cannot bring back half a store.
    const removed = `${directory}${REMOVED}`
    await rm(removed, { recursive: true, force: true })
    await rename(directory, removed)
    await syncDirectory(this.#root)
    await rm(removed, { recursive: true, force: true })
  }

  /**
   * Makes `from`, a closed store on the same file system, the store of this name, in place of the one
   * before. After a crash call it again: then the name has its old store, the new one, or none.
   */
  async replace(name: string, from: string): Promise<void> {
    const directory = this.#directoryOf(name)
    if (this.#open.has(name)) throw heldError(directory)
    await this.destroy(name)
    await rename(from, directory)
    await syncDirectory(this.#root)
    await syncDirectory(path.dirname(from))
  }

  async compact(signal: AbortSignal, onCompacted: OnCompacted): Promise<void> {
    for (const [name, store] of this.#open) {
      if (signal.aborted) return
      try {
        const bytes = await store.compactDeleted(signal)
        if (bytes !== undefined) onCompacted(name, bytes)
      } catch (error) {
        if (this.#open.get(name) === store) throw error // otherwise it was closed meanwhile
      }
    }
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

function shareOf({ totalBytes, minBytes, maxBytes }: MemoryShare, storeCount: number): number {
  return Math.min(maxBytes, Math.max(minBytes, Math.floor(totalBytes / storeCount)))
}

async function discardLog(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (LEVEL_LOG.test(name)) await rm(path.join(directory, name))
  }
}

function heldError(directory: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `${directory} is already open; close it first`)
}

async function exists(directory: string): Promise<boolean> {
  try {
    await access(directory)
    return true
  } catch {
    return false
  }
}
