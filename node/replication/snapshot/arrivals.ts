// The snapshots that a node receives, from the first page to the replica's place. Format and order:
// docs/reference/formats/replica-snapshot.md, "On disk".
//
//   <log>.arriving ──whole, synced──► <log> ──`restart` mark, swap──► gone: store and indexes are in place
//
// Invariants:
//   AR1  What has the name <log> is whole and durable.
//   AR2  Until the journal's `restart` mark is durable, nothing of the old replica is touched.
//   AR3  After that, a swap that was interrupted is completed before any store is opened.

import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { syncDirectory } from '../../storage/file-replacement.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import type { LogPosition } from '../core/log-index.ts'
import { isSamePosition, type SnapshotHeader } from './snapshot-messages.ts'
import type { ReadPosition } from './snapshot-replica.ts'
import { SnapshotTarget } from './snapshot-target.ts'

const ARRIVING = '.arriving'
const STORE = 'store'
const INDEXES = 'indexes'

/** What the arrivals work with. */
export interface ArrivalsOptions {
  /** On the file system of the stores and the indexes. The arrivals own it. */
  readonly directory: string
  /** Has a directory for each shard, by its id. */
  readonly indexRoot: string
  /** Opens a new store, which the node's factory can open later. */
  readonly openStore: (directory: string) => Promise<KvStore>
  /** Makes `directory` the store of this name, in place of the one before, which is closed. */
  readonly replaceStore: (name: string, directory: string) => Promise<void>
  readonly readPosition: ReadPosition
  /** Throws DISK_FULL when the disk has no room for `bytes` more. */
  readonly admit: (bytes: number) => void
  readonly log: Log
}

/** A snapshot that was received whole. It is durable, and does not count yet. */
export interface Arrival {
  readonly logId: string
  readonly position: LogPosition
}

/** What the journal says: by log, the position of its last `restart` mark. */
export type RestartedLogs = (
  logIds: ReadonlySet<string>,
) => Promise<ReadonlyMap<string, LogPosition>>

/** Receives snapshots into new directories, and puts them in the place of old replicas (AR1-AR3). */
export class Arrivals {
  readonly #with: ArrivalsOptions

  private constructor(options: ArrivalsOptions) {
    this.#with = options
  }

  /** Removes what was not whole when the process ended. Call `settle` before any store is opened. */
  static async open(options: ArrivalsOptions): Promise<Arrivals> {
    const { directory } = options
    const created = await mkdir(directory, { recursive: true, mode: 0o700 })
    if (created !== undefined) await syncDirectory(path.dirname(created))
    for (const name of await readdir(directory)) {
      if (!name.endsWith(ARRIVING)) continue
      await rm(path.join(directory, name), { recursive: true, force: true })
    }
    return new Arrivals(options)
  }

  /**
   * Completes the swaps whose `restart` mark is durable (AR3), and removes other arrivals. Answers the
   * logs whose replica was swapped. A swap that fails stops no other: its log refuses the old store
   * (`openReplicaLogs`), and the replica is built anew.
   */
  async settle(restarted: RestartedLogs): Promise<readonly string[]> {
    const logIds = await readdir(this.#with.directory)
    if (logIds.length === 0) return []
    const marks = await restarted(new Set(logIds))
    const swapped: string[] = []
    for (const logId of logIds) {
      try {
        if (await this.#settleOne(logId, marks.get(logId))) swapped.push(logId)
      } catch (error) {
        this.#with.log.error('snapshot not put in place', { logId, error: messageOf(error) })
      }
    }
    return swapped
  }

  async #settleOne(logId: string, mark: LogPosition | undefined): Promise<boolean> {
    const counts = await this.#counts(logId, mark)
    await (counts ? this.swap(logId) : this.discard(logId))
    return counts
  }

  /**
   * Begins to receive. An earlier arrival of the log is removed, so it must not be one whose `restart` mark
   * was written and whose swap can still succeed.
   */
  async begin(logId: string, header: SnapshotHeader): Promise<SnapshotTarget> {
    await this.discard(logId)
    const directory = this.#directoryOf(`${logId}${ARRIVING}`)
    const { openStore, readPosition, admit } = this.#with
    return SnapshotTarget.open({
      header,
      storeDirectory: path.join(directory, STORE),
      indexDirectory: path.join(directory, INDEXES),
      openStore,
      readPosition,
      admit,
    })
  }

  /** The target has ended. From now on a start finds the arrival (AR1). */
  async complete(logId: string, position: LogPosition): Promise<Arrival> {
    const directory = this.#directoryOf(logId)
    const arriving = `${directory}${ARRIVING}`
    await syncDirectory(arriving)
    await rename(arriving, directory)
    await syncDirectory(this.#with.directory)
    return { logId, position }
  }

  /**
   * Puts the arrival in the place of the replica. Before the call, the `restart` mark must be durable (AR2)
   * and the old store and indexes closed. It may be called again after a failure.
   */
  async swap(logId: string): Promise<void> {
    const directory = this.#directoryOf(logId)
    const { indexRoot, replaceStore, log } = this.#with
    const indexes = path.join(directory, INDEXES)
    if (await exists(indexes)) await replaceIndexes(indexes, path.join(indexRoot, logId))
    const store = path.join(directory, STORE)
    if (await exists(store)) await replaceStore(logId, store)
    await rm(directory, { recursive: true, force: true })
    await syncDirectory(this.#with.directory)
    log.info('replica built from a snapshot', { logId })
  }

  /** Removes what has arrived of this log. The old replica continues. */
  async discard(logId: string): Promise<void> {
    const directory = this.#directoryOf(logId)
    await rm(directory, { recursive: true, force: true })
    await rm(`${directory}${ARRIVING}`, { recursive: true, force: true })
  }

  /** An arrival without a store was at the end of its swap when the process stopped. */
  async #counts(logId: string, mark: LogPosition | undefined): Promise<boolean> {
    if (mark === undefined) return false
    const directory = path.join(this.#directoryOf(logId), STORE)
    if (!(await exists(directory))) return true
    await using store = await this.#with.openStore(directory)
    const position = this.#with.readPosition(store)
    return position !== undefined && isSamePosition(position, mark)
  }

  #directoryOf(name: string): string {
    return path.join(this.#with.directory, name)
  }
}

/** Index files can be built again, so their removal needs no order with the store. */
async function replaceIndexes(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await mkdir(path.dirname(to), { recursive: true, mode: 0o700 })
  await rename(from, to)
  await syncDirectory(path.dirname(to))
}

async function exists(directory: string): Promise<boolean> {
  try {
    await access(directory)
    return true
  } catch {
    return false
  }
}
