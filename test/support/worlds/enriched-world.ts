// One shard whose index is enriched by a fake model, on a clock that the test drives.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { LedShards } from '../../../node/catalog/tables/led-shards.ts'
import { decodeArtifact, encodeArtifact, type Artifact } from '../../../node/embedding/artifact.ts'
import type { Enrichment } from '../../../node/enrichment/enrichment.ts'
import type { LogLimits } from '../../../node/enrichment/enrichment-round.ts'
import { Enrichers } from '../../../node/enrichment/enrichers.ts'
import type { IndexDefinition } from '../../../node/index/host/index-definition.ts'
import { NO_SETTINGS, type TableSettings } from '../../../node/shard/command/table-settings.ts'
import type { EnrichmentStatus } from '../../../node/shard/following/shard-enrichers.ts'
import { isDeleted, jsonOf, ordinalOf } from '../../../node/shard/format/document-record.ts'
import {
  artifactKey,
  keyOfDocumentKey,
  keyspaceRange,
} from '../../../node/shard/format/keyspace.ts'
import type { LocalShard } from '../../../node/shard/local-shard.ts'
import type { KvStore } from '../../../node/storage/kv-store.ts'
import { FakeEnrichment, FakeModel, hashOf } from '../fakes/fake-enrichment.ts'
import { ShardWorld } from './shard-world.ts'

export const ENRICHED: IndexDefinition = {
  id: '0123456789abcdef',
  kind: 'vectors',
  name: 'vec',
  memOnly: false,
  settings: { external: false },
}
export const ENRICHED_SETTINGS: TableSettings = { ...NO_SETTINGS, indexes: [ENRICHED] }

const STEP_MS = 50
const TURNS_PER_STEP = 12
const STEPS_MAX = 40_000

/** How a world is made. */
export interface EnrichedWorldOptions {
  readonly limits?: LogLimits
  readonly batch?: Enrichment['batch']
}

export class EnrichedWorld implements AsyncDisposable {
  readonly clock: ManualClock
  readonly shards: ShardWorld
  readonly led = new LedShards()
  readonly model = new FakeModel()
  /** The settings of all indexes whose models were opened. */
  readonly opened: unknown[] = []
  readonly #options: EnrichedWorldOptions
  #enrichers: Enrichers

  private constructor(clock: ManualClock, shards: ShardWorld, options: EnrichedWorldOptions) {
    this.clock = clock
    this.shards = shards
    this.#options = options
    this.#enrichers = this.#start()
  }

  static async open(options: EnrichedWorldOptions = {}): Promise<EnrichedWorld> {
    const clock = new ManualClock()
    const shards = await ShardWorld.open(['s'], { clock })
    const world = new EnrichedWorld(clock, shards, options)
    await world.lead()
    return world
  }

  get enrichers(): Enrichers {
    return this.#enrichers
  }

  get shard(): LocalShard {
    return this.shards.shard('s')
  }

  /** The shard is led from now on, with the index. */
  async lead(): Promise<void> {
    await this.shard.led.setSettings(ENRICHED_SETTINGS)
    this.led.add(this.shard.led)
  }

  /** The machine loses power, and comes back. */
  async restart(): Promise<void> {
    this.led.remove(this.shard.id)
    await this.#enrichers[Symbol.asyncDispose]()
    await this.shards.restart()
    this.#enrichers = this.#start()
    await this.lead()
  }

  put(key: string, text: unknown): Promise<void> {
    return this.write({ [key]: text })
  }

  /** Texts by keys, in one write; undefined deletes. */
  async write(texts: Readonly<Record<string, unknown>>): Promise<void> {
    const ops = Object.entries(texts).map(([name, text]) => {
      const key = Buffer.from(name)
      if (text === undefined) return { kind: 'delete', key } as const
      const json = Buffer.from(JSON.stringify({ text }))
      return { kind: 'put', key, json, expiry: { kind: 'none' } } as const
    })
    await this.shard.write({ checks: [], ops, ttl: undefined })
  }

  /** As a write that waits for vectors: document and artifact at once. */
  async writeWithVector(name: string, text: string): Promise<void> {
    const vector = Float32Array.from(this.model.vectorOf(text))
    const rows = [{ start: 0, end: 0, vector }]
    const artifact = encodeArtifact({
      kind: 'dense',
      ordinal: 0,
      sourceHash: hashOf(text),
      dimension: vector.length,
      rows,
    })
    const json = Buffer.from(JSON.stringify({ text }))
    const artifacts = [{ index: ENRICHED.id, artifact }]
    const op = {
      kind: 'put',
      key: Buffer.from(name),
      json,
      expiry: { kind: 'none' },
      artifacts,
    } as const
    await this.shard.write({ checks: [], ops: [op], ttl: undefined })
  }

  async status(parkedMax = 0): Promise<EnrichmentStatus> {
    const enricher = this.shard.led.enrichers.get(ENRICHED.id)
    if (enricher === undefined) throw new TypeError('the index is not enriched')
    return enricher.status(parkedMax)
  }

  /** Lets time pass until the condition holds. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step++) {
      if (await condition()) return
      await this.step()
    }
    expect.fail('the condition never held')
  }

  async step(ms = STEP_MS): Promise<void> {
    this.clock.advance(ms)
    for (let turn = 0; turn < TURNS_PER_STEP; turn++) await nextTurn()
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.clock.monotonicMs() + ms
    await this.until(() => this.clock.monotonicMs() >= endMs)
  }

  /** Every document has an artifact of its present source, or a parked one of it. */
  async settle(): Promise<void> {
    await this.shard.led.settled()
    await this.until(async () => (await unsettledIn(this.shard.store)).length === 0)
  }

  async artifacts(): Promise<Readonly<Record<string, string>>> {
    return artifactsIn(this.shard.store)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#enrichers[Symbol.asyncDispose]()
    await this.shards[Symbol.asyncDispose]()
  }

  #start(): Enrichers {
    const { clock, led, model, opened } = this
    return buildFakeEnrichers({ ...this.#options, clock, led, model, opened })
  }
}

/** What enrichers of a fake model need. */
export interface FakeEnrichersOptions extends EnrichedWorldOptions {
  readonly clock: ManualClock
  readonly led: LedShards
  readonly model: FakeModel
  readonly opened?: unknown[]
}

export function buildFakeEnrichers(options: FakeEnrichersOptions): Enrichers {
  const { clock, led, model, limits, batch, opened } = options
  return new Enrichers({
    led,
    open: ({ id: index, settings }) => {
      opened?.push(settings)
      return new FakeEnrichment({ index, clock, ...(batch === undefined ? {} : { batch }) }, model)
    },
    clock,
    random: seededRandom(1),
    log: silentLog,
    ...(limits === undefined ? {} : { limits }),
  })
}

/** By key, `made`, `nothing` or `parked` for a document whose artifact is of its present source; else `none`. */
export async function artifactsIn(store: KvStore): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  const pages = await Array.fromAsync(store.pages(keyspaceRange('documents')))
  for (const [stored, record] of pages.flat()) {
    if (isDeleted(record)) continue
    const key = keyOfDocumentKey(stored)
    const bytes = store.get(artifactKey(ENRICHED.id, key))
    const artifact = bytes && decodeArtifact(bytes)
    const { text }: { readonly text?: unknown } = JSON.parse(jsonOf(record).toString())
    const isOwn = artifact !== undefined && artifact.ordinal === ordinalOf(record)
    found[key.toString()] = isOwn ? stateOf(artifact, text) : 'none'
  }
  return found
}

function stateOf(artifact: Artifact, text: unknown): string {
  const isRead = typeof text === 'string'
  if (!isRead) return artifact.kind === 'parked' ? 'parked' : 'none'
  if (!hashOf(text.trim()).equals(artifact.sourceHash ?? Buffer.alloc(0))) return 'none'
  if (artifact.kind === 'parked') return 'parked'
  return artifact.rows.length === 0 ? 'nothing' : 'made'
}

/** The keys of documents that have neither an artifact of their source nor a parked one. */
export async function unsettledIn(store: KvStore): Promise<readonly string[]> {
  const found = await artifactsIn(store)
  return Object.entries(found).flatMap(([key, state]) => (state === 'none' ? [key] : []))
}
