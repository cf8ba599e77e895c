// Which indexes are enriched on this node: those whose vectors the store makes, on each shard that it leads.
//
//   led shards × their indexes ─► ShardEnricher ─┐
//                                                ├─► ModelLine, one for each index ─► Enrichment
//   led shards × their indexes ─► ShardEnricher ─┘
//
// Invariants:
//   EN1  An enricher asks models by the settings that its index has now, which may hold a key that was sealed anew: one
//        whose settings have changed is closed, and another takes over from its stored progress.

import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { IndexDefinition } from '../index/host/index-definition.ts'
import { isEnriched } from '../index/kinds/index-kinds.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { Enrichment } from './enrichment.ts'
import { EnrichmentRoom } from './enrichment-room.ts'
import { LOG_LIMITS, type LogLimits } from './enrichment-round.ts'
import { ModelLine } from './model-line.ts'
import { ShardEnricher, type ModelLease } from './shard-enricher.ts'
import { sortedJson } from './source-hash.ts'

/** The shards that this node leads. */
export interface LedShardsSource {
  all(): readonly LedShard[]
  onChanged(listener: () => void): () => void
}

/** What enrichers share. They do not close it. */
export interface EnrichersOptions {
  readonly led: LedShardsSource
  /** Opens the models of an index; throws where its settings mean nothing on this node. */
  readonly open: (definition: IndexDefinition) => Enrichment
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly limits?: LogLimits
}

interface RunningEnricher {
  readonly enricher: ShardEnricher
  /** As they are now; in the record that was read last. */
  settings: IndexDefinition['settings']
  /** Equal for settings that say the same. */
  readonly settingsKey: string
}

type RunningOfShard = Map<string, RunningEnricher>

interface SharedLine {
  readonly line: ModelLine
  users: number
}

/** What the enrichers of a node do, over all indexes and shards. */
export interface EnrichmentCounts {
  /** Documents that have got an artifact since the node started. */
  readonly enriched: number
  readonly pending: number
  readonly parked: number
  /** Indexes of shards that cannot be enriched at the moment. */
  readonly failing: number
  /** What is held in memory for documents on their way to models. */
  readonly bytes: number
}

/** Starts and closes enrichers as shards and indexes come and leave. */
export class Enrichers implements AsyncDisposable {
  readonly #with: EnrichersOptions
  readonly #room = new EnrichmentRoom()
  /** By the ids of indexes and by their settings (EN1). */
  readonly #lines = new Map<string, SharedLine>()
  readonly #running = new Map<LedShard, RunningOfShard>()
  /** The end of what was closed last on a shard: the next one starts after it. */
  readonly #ending = new WeakMap<LedShard, Promise<void>>()
  readonly #closing = new Set<Promise<void>>()
  readonly #unlisten: () => void
  /** By enrichers that are closed. */
  #enriched = 0
  #isClosed = false

  constructor(options: EnrichersOptions) {
    this.#with = options
    this.#unlisten = options.led.onChanged(() => this.#reconcile())
    this.#reconcile()
  }

  counts(): EnrichmentCounts {
    const running = [...this.#running.values()].flatMap((enrichers) =>
      [...enrichers.values()].map(({ enricher }) => enricher),
    )
    const sum = (countOf: (enricher: ShardEnricher) => number): number =>
      running.reduce((total, enricher) => total + countOf(enricher), 0)
    return {
      enriched: this.#enriched + sum(({ enriched }) => enriched),
      pending: sum(({ waiting }) => waiting),
      parked: sum(({ parked }) => parked),
      failing: running.filter(({ error }) => error !== undefined).length,
      bytes: this.#room.inside.bytes,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#unlisten()
    this.#reconcile()
    while (this.#closing.size > 0) await Promise.all(this.#closing)
  }

  #reconcile(): void {
    const led = new Set(this.#isClosed ? [] : this.#with.led.all())
    for (const shard of this.#running.keys()) if (!led.has(shard)) this.#closeAllOf(shard)
    for (const shard of led) this.#reconcileShard(shard)
  }

  #reconcileShard(led: LedShard): void {
    led.enrichers.onChanged(() => this.#reconcile())
    const wanted = led.enrichers.isEnded ? [] : led.indexes.filter(isEnriched)
    const running: RunningOfShard = this.#running.get(led) ?? new Map()
    const ids = new Set(wanted.map(({ id }) => id))
    for (const id of running.keys()) if (!ids.has(id)) this.#close(led, running, id)
    for (const definition of wanted) this.#keepOrReplace(led, running, definition)
    if (running.size > 0) this.#running.set(led, running)
    else this.#running.delete(led)
  }

  /** EN1. */
  #keepOrReplace(led: LedShard, running: RunningOfShard, definition: IndexDefinition): void {
    const { id, settings } = definition
    const before = running.get(id)
    if (before !== undefined && before.settings === settings) return
    const settingsKey = sortedJson(settings ?? null)
    if (before?.settingsKey === settingsKey) {
      before.settings = settings
      return
    }
    this.#close(led, running, id)
    const enricher = this.#start(led, definition, settingsKey)
    running.set(id, { enricher, settings, settingsKey })
  }

  #start(led: LedShard, definition: IndexDefinition, settingsKey: string): ShardEnricher {
    const line = `${definition.id} ${settingsKey}`
    const borrow = async (): Promise<ModelLease> => this.#borrow(line, definition)
    const { limits = LOG_LIMITS } = this.#with
    const parts = { ...this.#with, limits, room: this.#room }
    const enricher = new ShardEnricher({ ...parts, led, definition, borrow })
    led.enrichers.add(definition.id, enricher)
    enricher.start(this.#ending.get(led))
    return enricher
  }

  #closeAllOf(led: LedShard): void {
    const running = this.#running.get(led)
    this.#running.delete(led)
    for (const id of running?.keys() ?? []) if (running) this.#close(led, running, id)
  }

  #close(led: LedShard, running: RunningOfShard, id: string): void {
    const { enricher } = running.get(id) ?? {}
    if (enricher === undefined) return
    running.delete(id)
    led.enrichers.remove(id)
    const closing = Promise.all([this.#ending.get(led), enricher.close()]).then(() => {
      this.#closing.delete(closing)
      this.#enriched += enricher.enriched
    })
    this.#closing.add(closing)
    this.#ending.set(led, closing)
  }

  #borrow(name: string, definition: IndexDefinition): ModelLease {
    const shared = this.#lines.get(name) ?? { line: this.#openLine(definition), users: 0 }
    this.#lines.set(name, shared)
    shared.users += 1
    return { line: shared.line, release: () => this.#release(name, shared) }
  }

  #openLine(definition: IndexDefinition): ModelLine {
    return new ModelLine({ ...this.#with, enrichment: this.#with.open(definition) })
  }

  async #release(name: string, shared: SharedLine): Promise<void> {
    shared.users -= 1
    if (shared.users > 0) return
    this.#lines.delete(name)
    await shared.line.close()
  }
}
