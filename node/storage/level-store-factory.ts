// Stores as children of one directory: <root>/<name>/ is a LevelDB, <root>/<name>.removed/ is what
// is left of one whose removal was interrupted. Format: docs/formats/data-directory.md.

import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { assert } from '../../lib/assert.ts'
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

/**
 * A store must be closed before it is destroyed. The factory itself holds nothing open.
 */
export class LevelStoreFactory implements KvStoreFactory {
  readonly #root: string
  readonly #options: LevelOptions

  private constructor(root: string, options: LevelOptions) {
    this.#root = root
    this.#options = options
  }

  /** Creates `root` when it is missing, and finishes removals that a crash interrupted. */
  static async open(root: string, options: LevelOptions): Promise<LevelStoreFactory> {
    const created = await mkdir(root, { recursive: true, mode: 0o700 })
    if (created !== undefined) await syncDirectory(path.dirname(root))
    const factory = new LevelStoreFactory(root, options)
    await factory.#removeLeftovers()
    return factory
  }

  async open(name: string): Promise<LevelKvStore> {
    const directory = this.#directoryOf(name)
    const isNew = !(await exists(directory))
    const storeCount = (await this.list()).length + (isNew ? 1 : 0)
    const store = await LevelKvStore.open(directory, {
      writeBufferBytes: shareOf(WRITE_BUFFERS, storeCount),
      cacheBytes: shareOf(BLOCK_CACHES, storeCount),
      ...this.#options,
    })
    if (isNew) await syncDirectory(this.#root)
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

async function exists(directory: string): Promise<boolean> {
  try {
    await access(directory)
    return true
  } catch {
    return false
  }
}
