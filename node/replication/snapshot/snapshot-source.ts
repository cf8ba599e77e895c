// The snapshots that a node gives to others.
//
//   open ─► read ─lost connection─► read on ─► close
//     └──────────── nobody reads, or too old ──► closed
//
// Invariants:
//   SG1  At most `openMax` snapshots are open, and each has an end: it keeps overwritten data on the disk.
//   SG2  Files of indexes are linked before the store is viewed, so no index is ahead of its store.
//   SG3  Only the node that opened a snapshot reads or closes it.

import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { NodeId } from '../../peer/peer.ts'
import { ContentHashes } from './content-hashes.ts'
import { goneError, OpenSnapshot } from './open-snapshot.ts'
import { Pace } from './pace.ts'
import type { SnapshotLimits } from './snapshot-limits.ts'
import {
  isFileName,
  type OpenRequest,
  type PagesRequest,
  type SnapshotFile,
  type SnapshotHeader,
} from './snapshot-messages.ts'
import { viewStore, type SnapshotReplica, type StoreView } from './snapshot-replica.ts'

/** What the source works with. */
export interface SnapshotSourceOptions {
  /** The replica of a log in this process. */
  readonly replicaOf: (logId: string) => SnapshotReplica | undefined
  /** For links to index files, on the file system of the indexes. The source owns the directory. */
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  /** Returns that many random bytes. */
  readonly randomBytes: (count: number) => Buffer
  readonly limits: SnapshotLimits
}

interface Held {
  readonly reader: NodeId
  readonly logId: string
  readonly opened: OpenSnapshot
  readonly view: StoreView
  readonly directory: string
  readonly openedAtMs: number
  usedAtMs: number
  /** Aborts when the snapshot is closed. */
  readonly ended: AbortController
}

/** Gives snapshots of the replicas of this process (SG1-SG3). */
export class SnapshotSource {
  readonly hashes: ContentHashes
  readonly #with: SnapshotSourceOptions
  readonly #pace: Pace
  readonly #held = new Map<string, Held>()
  /** Snapshots that are open or being opened (SG1). */
  #count = 0
  #sentBytes = 0

  private constructor(options: SnapshotSourceOptions) {
    this.#with = options
    const { clock } = options
    const pace = new Pace(clock, options.limits.bytesPerSecond)
    this.#pace = pace
    this.hashes = new ContentHashes({ replicaOf: (logId) => this.#replicaOf(logId), clock, pace })
  }

  /** Removes what an earlier process has left. */
  static async open(options: SnapshotSourceOptions): Promise<SnapshotSource> {
    await rm(options.directory, { recursive: true, force: true })
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    return new SnapshotSource(options)
  }

  get openCount(): number {
    return this.#count
  }

  /** The bytes of all pages, for the metrics. */
  get sentBytes(): number {
    return this.#sentBytes
  }

  /**
   * Opens a snapshot of the replica as it is now. NOT_FOUND without such a replica; OVERLOADED if too many
   * are open; UNAVAILABLE if the replica has applied less than the reader has.
   */
  async open(reader: NodeId, request: OpenRequest): Promise<SnapshotHeader> {
    const replica = this.#replicaOf(request.logId)
    const { limits } = this.#with
    if (this.#count >= limits.openMax) {
      throw new ServiceError('OVERLOADED', `${limits.openMax} snapshots are open; try again later`)
    }
    this.#count += 1
    const id = this.#with.randomBytes(16).toString('hex')
    try {
      const held = await this.#hold({ reader, id, replica, request })
      this.#held.set(id, held)
      void this.#expire(id, held)
      return held.opened.header
    } catch (error) {
      this.#count -= 1
      throw error
    }
  }

  /** NOT_FOUND if the snapshot is not open, or does not remember that page. */
  async *pages(
    reader: NodeId,
    { id, after }: PagesRequest,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer, void> {
    const held = this.#heldBy(reader, id)
    held.usedAtMs = this.#nowMs
    const either = AbortSignal.any([signal, held.ended.signal])
    for await (const page of await held.opened.pages(after)) {
      await this.#pace.take(page.length, either)
      held.usedAtMs = this.#nowMs
      this.#sentBytes += page.length
      yield page
    }
    if (held.opened.isStopped) throw goneError()
  }

  /** Closing what is not open does nothing. */
  async close(reader: NodeId, id: string): Promise<void> {
    if (this.#held.get(id)?.reader === reader) await this.#free(id)
  }

  /** Before the replica's store is closed. */
  async closeAllOf(logId: string): Promise<void> {
    const ids = [...this.#held].filter(([, held]) => held.logId === logId).map(([id]) => id)
    await Promise.all(ids.map((id) => this.#free(id)))
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((id) => this.#free(id)))
  }

  async #hold(asked: {
    readonly reader: NodeId
    readonly id: string
    readonly replica: SnapshotReplica
    readonly request: OpenRequest
  }): Promise<Held> {
    const { reader, id, replica, request } = asked
    const { clock, limits } = this.#with
    const directory = path.join(this.#with.directory, id)
    await mkdir(directory, { mode: 0o700 })
    try {
      await replica.linkIndexes(directory) // SG2
      const files = await filesIn(directory)
      const view = await this.#viewAtLeast(replica, request.atLeast)
      const storeBytes = await replica.store.approximateBytes({})
      const header = { id, position: view.position, storeBytes, files }
      const { resumablePages } = limits
      const opened = new OpenSnapshot({ header, view, directory, resumablePages })
      const nowMs = clock.monotonicMs()
      const times = { openedAtMs: nowMs, usedAtMs: nowMs, ended: new AbortController() }
      return { reader, logId: request.logId, opened, view, directory, ...times }
    } catch (error) {
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  async #viewAtLeast(replica: SnapshotReplica, atLeast: number): Promise<StoreView> {
    const view = await viewStore(replica, this.#with.clock)
    const { sequence } = view.position
    if (sequence >= atLeast) return view
    await view.snapshot[Symbol.asyncDispose]()
    throw new ServiceError(
      'UNAVAILABLE',
      `the replica has applied log entry ${sequence}, and ${atLeast} is wanted; try again later`,
    )
  }

  async #expire(id: string, held: Held): Promise<void> {
    const { clock, log, limits } = this.#with
    for (;;) {
      const untilMs = Math.min(held.openedAtMs + limits.ageMs, held.usedAtMs + limits.idleMs)
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0) break
      try {
        await clock.sleep(leftMs, held.ended.signal)
      } catch {
        return // closed
      }
    }
    const about = { logId: held.logId, reader: held.reader }
    log.warn('snapshot not read to its end', about)
    try {
      await this.#free(id)
    } catch (error) {
      log.warn('snapshot not freed', { ...about, error: messageOf(error) })
    }
  }

  async #free(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.delete(id)
    held.ended.abort(goneError())
    try {
      await held.opened.stop()
      await held.view.snapshot[Symbol.asyncDispose]()
      await rm(held.directory, { recursive: true, force: true })
    } finally {
      this.#count -= 1
    }
  }

  #heldBy(reader: NodeId, id: string): Held {
    const held = this.#held.get(id)
    if (held === undefined || held.reader !== reader) throw goneError()
    return held
  }

  #replicaOf(logId: string): SnapshotReplica {
    const replica = this.#with.replicaOf(logId)
    if (replica !== undefined) return replica
    throw new ServiceError('NOT_FOUND', `this node has no replica of log ${logId}`)
  }

  get #nowMs(): number {
    return this.#with.clock.monotonicMs()
  }
}

async function filesIn(root: string): Promise<readonly SnapshotFile[]> {
  const files: SnapshotFile[] = []
  for (const directory of (await readdir(root)).toSorted()) {
    for (const name of (await readdir(path.join(root, directory))).toSorted()) {
      if (!isFileName(directory) || !isFileName(name)) continue
      const { size: bytes } = await stat(path.join(root, directory, name))
      files.push({ directory, name, bytes })
    }
  }
  return files
}
