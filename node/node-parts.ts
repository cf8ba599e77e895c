// The parts that a node in swarm mode and a node of a cluster are both built from.

import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { InvariantError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import type { LoopWatch } from '../lib/loop-watch.ts'
import type { MetricSource } from '../lib/metrics.ts'
import { guardLoop } from '../lib/process/hang-guard.ts'
import { Descriptors } from '../lib/process/descriptors.ts'
import { processMetrics } from '../lib/process/process-metrics.ts'
import { endProcess, loggedEnd, type ServerLog } from '../lib/process/server-process.ts'
import type { ApiMetrics } from './api/metrics.ts'
import { BOUND_AHEAD_MS, HybridClock } from './clock/hybrid-clock.ts'
import type { NodeConfig } from './config.ts'
import type { NodeSettings } from './steering/node-settings.ts'
import { reloadSilently } from './reloaded-settings.ts'
import type { ShardFiles } from './catalog/admin/table-admin.ts'
import type { Coordination } from './coordination/coordination.ts'
import { EmbeddedCoordination } from './coordination/embedded-coordination.ts'
import { StoredTimestampBound } from './coordination/stored-timestamp-bound.ts'
import { DiskJournalDirectory } from './journal/disk-journal-directory.ts'
import { Journal } from './journal/journal.ts'
import { convertStores, markUnnumbered } from './shard/convert-store.ts'
import type { DataDirectory } from './storage/data-directory.ts'
import { DiskGuard, type AdmitWrite } from './storage/disk-guard.ts'
import { syncDirectory } from './storage/file-replacement.ts'
import { LevelKvStore } from './storage/level-kv-store.ts'
import { LevelStoreFactory } from './storage/level-store-factory.ts'

const CATALOG_RESERVE_PART = 4
/** LevelDB's lock, log, manifest and journal, and what an index has open; table files are mapped and closed. */
const FILES_PER_SHARD = 5
/** The least that a shard has open. A start is refused only if it cannot succeed. */
const FILES_PER_SHARD_MIN = 4

/** A node that serves. Disposing it is `close` without a reason. */
export interface RunningNode extends AsyncDisposable {
  readonly apiUrl: string
  readonly healthUrl: string
  /** Loads the settings again that may change while the node runs; a refusal appears only in the log. */
  reload(): Promise<void>
  /** Ends open requests, then closes the store. `reason` goes to the log. */
  close(reason?: string): Promise<void>
}

interface RunningParts {
  readonly settings: NodeSettings
  readonly log: ServerLog
  readonly clock: Clock
  readonly life: Lifecycle
}

export function runningNode(
  urls: Pick<RunningNode, 'apiUrl' | 'healthUrl'>,
  { settings, log, clock, life }: RunningParts,
): RunningNode {
  const close = loggedEnd({ log, clock, life })
  const reload = (): Promise<void> => reloadSilently(settings, log)
  return { ...urls, reload, close, [Symbol.asyncDispose]: () => close() }
}

export function apiOptionsOf(config: NodeConfig, log: ServerLog) {
  const { host, apiPort: port, insecure, requestMemoryBytes } = config
  const { corsOrigins, publicUrls } = config
  return {
    host,
    port,
    insecure,
    corsOrigins,
    publicUrls,
    requestMemoryBytes,
    log,
    logsRequests: () => log.level === 'debug',
    connectionsMax: new Descriptors().connectionsMax,
    random: Math.random,
    onInvariantBroken: (error: InvariantError) => endProcess(log, error),
  }
}

interface ClockParts {
  /** Tells the data directory from every other one. */
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Log
  readonly life: Lifecycle
  /** Whether other nodes compare their clocks with this one. Default false. */
  readonly isAmongOthers?: boolean
}

export async function openHybridClock(
  coordination: Coordination,
  { clock, log, life, nodeId, isAmongOthers = false }: ClockParts,
): Promise<HybridClock> {
  const bound = new StoredTimestampBound(coordination, nodeId)
  const hybridClock = await HybridClock.open(clock, bound, { log, waitsForBound: isAmongOthers })
  life.onClose(() => hybridClock.close())
  life.onClose(clock.every(BOUND_AHEAD_MS / 3, () => hybridClock.keepAhead()))
  return hybridClock
}

export function indexesOf(config: NodeConfig, directory: string) {
  return {
    indexRoot: path.join(directory, 'indexes'),
    memoryBytesMax: config.indexMemoryBytes,
    hangMs: config.textWorkerHangMs,
  }
}

/** The stores of the shards, converted first if the directory is of an earlier format. */
export async function openStores(
  directory: DataDirectory,
  { clock, log }: Pick<ClockParts, 'clock' | 'log'>,
): Promise<LevelStoreFactory> {
  const root = path.join(directory.path, 'shards')
  if (directory.formatVersion < 2) {
    await convertStores(await LevelStoreFactory.open(root, { clock, ownLog: 'replay' }))
  }
  if (directory.formatVersion < 3) {
    await markUnnumbered(await LevelStoreFactory.open(root, { clock, ownLog: 'discard' }))
  }
  if (directory.formatVersion < 5) await directory.markConverted()
  const onFailure = (error: Error): void => endProcess(log, error)
  return LevelStoreFactory.open(root, { clock, ownLog: 'discard', onFailure })
}

interface JournalParts {
  readonly clock: Clock
  readonly log: Log
  readonly guard: DiskGuard
  /** Whether shards have other replicas: see `JournalOptions`. */
  readonly mayMark?: boolean
}

export async function openJournal(
  directory: DataDirectory,
  { clock, log, guard, mayMark = false }: JournalParts,
): Promise<Journal> {
  return Journal.open({
    directory: await DiskJournalDirectory.open(path.join(directory.path, 'journal')),
    clock,
    log,
    randomBits: () => randomBytes(4).readUInt32BE(),
    // Shards have refused what must not use the reserve before it comes to the journal.
    hasRoomFor: (bytes) => guard.hasRoomFor(bytes, true),
    onFailure: (error) => endProcess(log, error),
    mayMark,
  })
}

/**
 * Takes a damaged journal out of the way, under a name that answers. One that was set aside earlier goes: it is for
 * somebody who wants to know what happened, and takes as much room as the new one.
 */
export async function setAsideJournal(dataDirectory: string): Promise<string> {
  const kept = path.join(dataDirectory, 'journal.damaged')
  await rm(kept, { recursive: true, force: true })
  await rename(path.join(dataDirectory, 'journal'), kept)
  await syncDirectory(dataDirectory)
  return kept
}

/** By what writes are admitted, and what people see of the disk. */
export function guardedBy(guard: DiskGuard) {
  const admit: AdmitWrite = (bytes, frees) => guard.assertRoomFor(bytes, frees)
  return { admit, disk: () => guard.room() }
}

/** Metrics are served from the start, because recovery may be long. */
export function addMetrics(
  metrics: ApiMetrics,
  sources: readonly MetricSource[],
  { guard, reserveBytes }: { readonly guard: DiskGuard; readonly reserveBytes: number },
): void {
  for (const source of [processMetrics(), ...sources]) metrics.addLines(source)
  const free = 'Free bytes in the file system of the data directory.'
  metrics.addGauge('quarry_disk_free_bytes', free, () => guard.freeBytes())
  const reserve = 'Writes are refused if fewer bytes than this are free.'
  metrics.addGauge('quarry_disk_reserve_bytes', reserve, () => reserveBytes)
}

/** Once the node serves: what a start takes in one piece holds up nobody. */
export function watchLoop(
  loop: LoopWatch,
  { metrics, life, hangMs }: { metrics: ApiMetrics; life: Lifecycle; hangMs: number },
): void {
  metrics.addLines(() => loop.lines())
  life.onClose(loop.start())
  life.onClose(guardLoop(loop, hangMs))
}

/**
 * What this node keeps for itself: in swarm mode the whole catalog. It takes writes when shards already refuse
 * them, because it keeps the clock's bound.
 */
export async function openLocalCoordination(
  { diskReserveBytes }: NodeConfig,
  directory: string,
  { clock, log, life }: Pick<ClockParts, 'clock' | 'log' | 'life'>,
): Promise<Coordination> {
  const reserveBytes = Math.floor(diskReserveBytes / CATALOG_RESERVE_PART)
  const guard = new DiskGuard({ directory, reserveBytes, clock })
  // Without it the clock gives no stamps: a node that lives on would lead its shards and refuse their writes.
  const onFailure = (error: Error): void => endProcess(log, error)
  const options = { clock, guard, onFailure }
  const store = await LevelKvStore.open(path.join(directory, 'catalog'), options)
  life.onClose(() => store.close())
  const coordination = new EmbeddedCoordination(store, clock)
  life.onClose(() => coordination.close())
  return coordination
}

/** What the shards of this process need of the files that it may open. */
export function shardFilesOf(descriptors: Descriptors): ShardFiles {
  return {
    admit: (shards) => {
      const table = shards === 1 ? 'a table' : `a table of ${shards} shards`
      descriptors.assertRoomFor(shards * FILES_PER_SHARD, table)
    },
    admitStart: (shards) => {
      descriptors.assertStart(shards * FILES_PER_SHARD_MIN, `the ${shards} shards of the tables`)
    },
  }
}
