import type { Clock } from '../../lib/clock.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { TextWorkerPool } from '../index/text/worker/text-worker-pool.ts'
import type { KvStoreFactory } from '../storage/kv-store.ts'
import type { TextIndexParts } from '../shard/indexing/shard-text-indexes.ts'
import { Catalog } from './tables/catalog.ts'
import { Idempotency } from './transactions/idempotency.ts'
import { NodeHousekeeper } from './node-housekeeper.ts'
import { ReadPins } from './read-pins.ts'
import { ShardHost } from './shard-host.ts'
import { SwarmStore } from './swarm-store.ts'
import { TableAdmin } from './tables/table-admin.ts'
import { TableRegistry } from './tables/table-registry.ts'
import { TransactionFinisher } from './transactions/transaction-finisher.ts'
import { TransactionRecovery } from './transactions/transaction-recovery.ts'
import { TransactionRunner } from './transactions/transaction-runner.ts'

export interface SwarmParts {
  readonly coordination: Coordination
  readonly stores: KvStoreFactory
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** 64 random bits as 16 hexadecimal digits. */
  readonly randomBits: () => string
  /** Absent: tables are not searched. */
  readonly text?: {
    /** The directory that holds the indexes of all shards. */
    readonly indexRoot: string
    readonly memoryBytesMax?: number
    /** Default: what the machine has room for. */
    readonly threads?: number
  }
}

export interface OpenedSwarm {
  readonly store: SwarmStore
  readonly housekeeper: NodeHousekeeper
  /** Ends what the last life left unfinished, then declares the store ready. */
  readonly finishStart: () => Promise<void>
}

/** Builds the store of one process and opens its tables; `life` closes them. */
export async function openSwarmStore(parts: SwarmParts, life: Lifecycle): Promise<OpenedSwarm> {
  const { hybridClock, clock, log, randomBits } = parts
  const registry = new TableRegistry()
  const router = registry
  const finisher = new TransactionFinisher(router, log)
  const shards = () => registry.localShards()
  const recovery = new TransactionRecovery({ router, finisher, hybridClock, log, shards })
  const runner = new TransactionRunner({ clock, hybridClock, router, finisher, randomBits })
  const text = openTextIndexes(parts, life)
  const host = new ShardHost({ stores: parts.stores, hybridClock, clock, router, log, text })
  const catalog = new Catalog(parts.coordination)
  const admin = new TableAdmin({ catalog, registry, host, recovery, log, randomBits })
  const pins = new ReadPins()
  const housekeeper = new NodeHousekeeper({
    clock,
    hybridClock,
    registry,
    recovery,
    finisher,
    admin,
    pins,
    log,
  })
  const store = new SwarmStore({
    clock,
    registry,
    admin,
    runner,
    idempotency: new Idempotency({ clock, admin, registry }),
    housekeeper,
    scan: { hybridClock, pins },
    merge: { clock, runner },
    version: parts.version,
  })

  life.onClose(() => admin.closeAll())
  await admin.openAll()
  life.onClose(() => finisher.idle())

  const finishStart = async (): Promise<void> => {
    await recovery.recoverAll()
    await admin.repair()
    housekeeper.start()
    life.onClose(() => housekeeper.stop())
    store.setReady()
  }
  return { store, housekeeper, finishStart }
}

/** Registered before the tables are, so that the workers outlive the indexes in them. */
function openTextIndexes(
  { text, clock, log }: SwarmParts,
  life: Lifecycle,
): TextIndexParts | undefined {
  if (text === undefined) return undefined
  const { indexRoot: root, ...workers } = text
  const pool = new TextWorkerPool({ clock, log, ...workers })
  life.onClose(() => pool.close())
  return { pool, root, log }
}
