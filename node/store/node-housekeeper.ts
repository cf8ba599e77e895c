import type { Clock } from '../../lib/clock.ts'
import { answerWithin } from '../../lib/deadline.ts'
import type { Log } from '../../lib/log.ts'
import { millisOf, timestampAtMs, type HybridClock } from '../clock/hybrid-clock.ts'
import { collectHistory, HISTORY_RETENTION_MS } from '../shard/housekeeping/history-collection.ts'
import { DroppedArtifacts } from '../shard/housekeeping/dropped-artifacts.ts'
import { EXPIRY_PERIOD_MS, expireDue, retimeDocuments } from '../shard/housekeeping/expiry.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { KvStoreFactory } from '../storage/kv-store.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import { numberDocuments } from '../shard/housekeeping/numbering.ts'
import { PIN_RENEW_MS, type ReadPins } from '../reads/read-pins.ts'
import type { SealedKeys } from '../catalog/admin/sealed-keys.ts'
import type { TableAdmin } from '../catalog/admin/table-admin.ts'
import {
  END_MS_MAX,
  FORGET_PERIOD_MS,
  type TransactionFinisher,
} from '../transactions/transaction-finisher.ts'
import {
  RECOVERY_PERIOD_MS,
  type TransactionRecovery,
} from '../transactions/transaction-recovery.ts'

export const COLLECTION_PERIOD_MS = 60_000
const REPAIR_PERIOD_MS = 1000

/** The parts of the node whose periodic work the housekeeper starts. It closes none of them. */
export interface NodeHousekeeperOptions {
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly led: LedShards
  readonly recovery: TransactionRecovery
  readonly finisher: TransactionFinisher
  readonly admin: TableAdmin
  readonly sealedKeys: Pick<SealedKeys, 'sealAnew'>
  readonly pins: ReadPins
  readonly log: Log
  /** The stores of all its replicas. Absent: nothing is compacted. */
  readonly stores?: Pick<KvStoreFactory, 'compact'> | undefined
  /** Whether this node takes up what others left half done. */
  readonly mayRepair: () => boolean
}

/** The periodic work of this node for the shards it leads. */
export class NodeHousekeeper {
  readonly #with: NodeHousekeeperOptions
  readonly #stop = new AbortController()
  readonly #stops: (() => Promise<void>)[] = []
  readonly #retiming = new Map<LedShard, Promise<void>>()
  readonly #droppedArtifacts = new DroppedArtifacts()
  #expiredDocuments = 0
  /** Why the last repair failed, as the log has it. */
  #repairTrouble: string | undefined

  constructor(options: NodeHousekeeperOptions) {
    this.#with = options
  }

  /** The number of documents that this process has deleted because they expired. */
  get expiredDocuments(): number {
    return this.#expiredDocuments
  }

  start(): void {
    const { clock, recovery, finisher } = this.#with
    this.#stops.push(
      clock.every(RECOVERY_PERIOD_MS, () => recovery.run()),
      clock.every(FORGET_PERIOD_MS, () => finisher.forgetResolved()),
      clock.every(REPAIR_PERIOD_MS, () => this.repair()),
      clock.every(EXPIRY_PERIOD_MS, () => this.expire()),
      clock.every(COLLECTION_PERIOD_MS, async () => {
        await this.collect()
        await this.#compact()
      }),
      clock.every(PIN_RENEW_MS, () => this.#with.pins.renew(this.#stop.signal)),
    )
    for (const shard of this.#with.led.all()) this.retime([shard])
  }

  async repair(): Promise<void> {
    if (!this.#with.mayRepair()) return
    try {
      await this.#with.admin.repair()
      await this.#with.sealedKeys.sealAnew()
      this.#repairTrouble = undefined
    } catch (error) {
      // A second later the same is tried again, and fails again while the control plane is frozen or away.
      const trouble = String(error)
      if (trouble === this.#repairTrouble) return
      this.#repairTrouble = trouble
      this.#with.log.warn('housekeeping failed', { what: 'repair', error: trouble })
    }
  }

  async expire(): Promise<void> {
    const nowMs = millisOf(this.#with.hybridClock.readPoint())
    await this.#forEachShard('expiry', async (shard) => {
      if (!this.#retiming.has(shard)) await this.#retimeOne(shard) // an earlier pass may have failed
      const deleted = await expireDue(shard, nowMs, this.#stop.signal)
      if (deleted === 0) return
      this.#expiredDocuments += deleted
      this.#with.log.info('expired documents deleted', { ...placeOf(shard), deleted })
    })
  }

  async collect(): Promise<void> {
    const { hybridClock } = this.#with
    const aged = timestampAtMs(millisOf(hybridClock.readPoint()) - HISTORY_RETENTION_MS)
    const { signal } = this.#stop
    await this.#forEachShard('collection', async (shard) => {
      await shard.collecting(aged, (horizon) => collectHistory(shard, horizon, signal))
      const nowMs = this.#with.clock.monotonicMs()
      const dropped = await this.#droppedArtifacts.collect(shard, nowMs, signal)
      if (dropped === 0) return
      this.#with.log.info('vectors of dropped indexes removed', { ...placeOf(shard), dropped })
    })
  }

  /** Replicas that this node does not lead have deleted as much as their leaders. */
  async #compact(): Promise<void> {
    const { stores, log } = this.#with
    try {
      await stores?.compact?.(this.#stop.signal, (shardId, bytes) =>
        log.info('store compacted', { shardId, ...bytes }),
      )
    } catch (error) {
      log.warn('housekeeping failed', { what: 'compaction', error: String(error) })
    }
  }

  /** Gives the documents the expiry of a changed policy, in the background. */
  retime(shards: readonly LedShard[]): void {
    let earlier = Promise.resolve()
    for (const shard of shards) {
      const begun = Promise.all([earlier, this.#retiming.get(shard)])
      const running = begun.then(() => this.#retimeOne(shard))
      this.#retiming.set(shard, running)
      void running.finally(() => {
        if (this.#retiming.get(shard) === running) this.#retiming.delete(shard)
      })
      earlier = running
    }
  }

  /** Work that a shard keeps waiting for longer than END_MS_MAX ends when the shard is closed; it never rejects. */
  async stop(): Promise<void> {
    this.#stop.abort()
    const stopped = Promise.all([...this.#stops.map((stop) => stop()), ...this.#retiming.values()])
    await answerWithin(stopped, { clock: this.#with.clock, ms: END_MS_MAX })
  }

  async #retimeOne(shard: LedShard): Promise<void> {
    await this.#numberOne(shard)
    try {
      const changed = await retimeDocuments(shard, this.#stop.signal)
      if (changed > 0) this.#with.log.info('documents retimed', { ...placeOf(shard), changed })
    } catch (error) {
      // Reads compute the expiry themselves until a later pass succeeds.
      this.#with.log.warn('retiming failed', { ...placeOf(shard), error: String(error) })
    }
  }

  /** Ordinals for the documents of an earlier version. */
  async #numberOne(shard: LedShard): Promise<void> {
    try {
      const changed = await numberDocuments(shard, this.#stop.signal)
      if (changed > 0) this.#with.log.info('documents numbered', { ...placeOf(shard), changed })
    } catch (error) {
      this.#with.log.warn('numbering failed', { ...placeOf(shard), error: String(error) })
    }
  }

  async #forEachShard(what: string, work: (shard: LedShard) => Promise<void>): Promise<void> {
    for (const shard of this.#with.led.all()) {
      try {
        await work(shard)
      } catch (error) {
        const fields = { what, ...placeOf(shard), error: String(error) }
        this.#with.log.warn('housekeeping failed', fields)
      }
    }
  }
}

/** For the log. */
function placeOf({ tableName: table, id: shardId }: LedShard) {
  return { table, shardId }
}
