import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import type { LogPosition } from '../../../node/journal/log-position.ts'
import { Arrivals, type ArrivalsOptions } from '../../../node/replication/snapshot/arrivals.ts'
import {
  SNAPSHOT_LIMITS,
  type SnapshotLimits,
} from '../../../node/replication/snapshot/snapshot-limits.ts'
import type { SnapshotReplica } from '../../../node/replication/snapshot/snapshot-replica.ts'
import {
  SnapshotSource,
  type SnapshotSourceOptions,
} from '../../../node/replication/snapshot/snapshot-source.ts'
import { encodeApplied } from '../../../node/shard/format/applied-position.ts'
import { APPLIED_KEY, documentKey } from '../../../node/shard/format/keyspace.ts'
import { readAppliedPosition } from '../../../node/shard/replica-snapshot.ts'
import type { KvOp, KvStore } from '../../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../../node/storage/level-kv-store.ts'
import { LevelStoreFactory } from '../../../node/storage/level-store-factory.ts'
import { MemoryKvStore } from '../../../node/storage/memory-kv-store.ts'

export const LOG = '00000000000000aa'
export const POSITION: LogPosition = { sequence: 70, epoch: 3, crc: 0xabcd }

/** The entries of a store at a position: as many documents of that many bytes, and what they have. */
export function storeOps(
  documents: number,
  bytes: number,
  position: LogPosition = POSITION,
): readonly KvOp[] {
  const applied = encodeApplied({ ...position, nextOrdinal: documents })
  const ops: KvOp[] = [{ type: 'put', key: APPLIED_KEY, value: applied }]
  for (let at = 0; at < documents; at++) {
    const key = documentKey(Buffer.from(`document ${String(at).padStart(6, '0')}`))
    ops.push({ type: 'put', key, value: Buffer.alloc(bytes, `${at} `) })
  }
  return ops
}

export async function memoryStore(ops: readonly KvOp[]): Promise<KvStore> {
  const store = new MemoryKvStore()
  await store.write(ops, { sync: false })
  return store
}

/** A directory with what a node has of snapshots, as source and as receiver. */
export class SnapshotWorld implements AsyncDisposable {
  readonly directory: string
  readonly clock: Clock
  readonly replicas = new Map<string, SnapshotReplica>()
  readonly stores: LevelStoreFactory
  readonly #closing: (() => Promise<void>)[] = []

  private constructor(directory: string, stores: LevelStoreFactory, clock: Clock) {
    this.directory = directory
    this.stores = stores
    this.clock = clock
  }

  static async open(clock: Clock = systemClock): Promise<SnapshotWorld> {
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-snapshot-'))
    const stores = await LevelStoreFactory.open(path.join(directory, 'stores'), {
      clock: systemClock,
      ownLog: 'discard',
    })
    return new SnapshotWorld(directory, stores, clock)
  }

  get incoming(): string {
    return path.join(this.directory, 'snapshots', 'incoming')
  }

  get indexRoot(): string {
    return path.join(this.directory, 'indexes')
  }

  /** A replica with these index files: by directory and name. */
  replica(
    store: SnapshotReplica['store'],
    files: Readonly<Record<string, Readonly<Record<string, Buffer>>>> = {},
  ): SnapshotReplica {
    return {
      store,
      readPosition: readAppliedPosition,
      linkIndexes: async (root) => {
        for (const [directory, byName] of Object.entries(files)) {
          await mkdir(path.join(root, directory))
          for (const [name, bytes] of Object.entries(byName)) {
            await writeFile(path.join(root, directory, name), bytes)
          }
        }
      },
    }
  }

  async source(
    limits: Partial<SnapshotLimits> = {},
    options: Partial<SnapshotSourceOptions> = {},
  ): Promise<SnapshotSource> {
    const source = await SnapshotSource.open({
      replicaOf: (logId) => this.replicas.get(logId),
      directory: path.join(this.directory, 'snapshots', 'outgoing'),
      clock: this.clock,
      log: silentLog,
      randomBytes,
      limits: { ...SNAPSHOT_LIMITS, bytesPerSecond: 2 ** 40, ...limits },
      ...options,
    })
    this.#closing.push(() => source.closeAll())
    return source
  }

  arrivals(options: Partial<ArrivalsOptions> = {}): Promise<Arrivals> {
    return Arrivals.open({
      directory: this.incoming,
      indexRoot: this.indexRoot,
      openStore: (directory) => LevelKvStore.open(directory, { clock: systemClock }),
      replaceStore: (name, directory) => this.stores.replace(name, directory),
      readPosition: readAppliedPosition,
      admit: () => undefined,
      log: silentLog,
      ...options,
    })
  }

  /** What lies under a directory, by path. Files of LevelDB are left out. */
  async files(root: string): Promise<Readonly<Record<string, string>>> {
    const found: Record<string, string> = {}
    const children = await readdir(root, { recursive: true, withFileTypes: true })
    for (const child of children) {
      if (!child.isFile()) continue
      const file = path.join(child.parentPath, child.name)
      found[path.relative(root, file)] = (await readFile(file)).toString('latin1')
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing) await close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** All entries of a store, in order. */
export async function entriesOf(
  store: Pick<KvStore, 'pages'>,
): Promise<readonly (readonly [string, string])[]> {
  const entries: (readonly [string, string])[] = []
  for await (const page of store.pages({})) {
    for (const [key, value] of page) {
      entries.push([key.toString('latin1'), value.toString('latin1')])
    }
  }
  return entries
}
