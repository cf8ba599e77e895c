// One text index of a shard under its name, over changes of the schema.
//
//   current ──new schema──► current + next (builds) ──next serves──► next becomes current
//
// Invariants:
//   V1  Searches meet one version, which follows the log until another one has caught up with it.
//   V2  On disk there are at most the version that answers and the one that is being built.

import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { unreachable } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { NOTHING_DROPPED } from '../../index/text/mapping/dropped-values.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../../index/text/search/text-search.ts'
import type { SchemaSource } from '../../index/text/worker/protocol.ts'
import type { SearchLimits } from '../../index/text/worker/remote-text-index.ts'
import type { TextWorkerPool } from '../../index/text/worker/text-worker-pool.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { TextIndexHealth, TextIndexStatus } from '../shard.ts'
import type { TextIndexDefinition } from '../table-settings.ts'
import type { IndexPlace } from './build-notices.ts'
import type { TableFields } from './table-fields.ts'
import { TextIndexConsumer, type ConsumedShard } from './text-index-consumer.ts'
import type { TextIndexEvents } from './text-index-events.ts'

/** A new table's index is open within this time, so that its first search need not be refused. */
const SERVING_WAIT_MAX_MS = 2000

export interface VersionedTextIndexOptions {
  readonly definition: TextIndexDefinition
  readonly table: string
  readonly shard: ConsumedShard
  readonly fields: TableFields
  readonly pool: TextWorkerPool
  /** Of the shard's indexes. */
  readonly root: string
  readonly clock: Clock
  readonly log: Log
  readonly events: TextIndexEvents
}

/** What a schema says about how documents are mapped. */
const MAPPING_MEMBERS = [
  'document_schemas',
  'default_type',
  'language',
  'stop_words',
  'dynamic_templates',
] as const

/** A table without a schema has version 0, and keeps it when its first one says nothing of mapping. */
export function indexVersionOf(schema: TableSchema | undefined): number {
  if (schema === undefined) return 0
  const isMapped = MAPPING_MEMBERS.some((member) => schema[member] !== undefined)
  return schema.version === 0 && !isMapped ? 0 : schema.version + 1
}

export function indexDirectoryName(name: string, version: number): string {
  return `${name}-v${version}`
}

/** Undefined for a directory that is not an index's. */
export function parseIndexDirectoryName(
  directory: string,
): { readonly name: string; readonly version: number } | undefined {
  const { name, version } = /^(?<name>.+)-v(?<version>\d+)$/.exec(directory)?.groups ?? {}
  return name === undefined ? undefined : { name, version: Number(version) }
}

interface Version {
  readonly version: number
  readonly consumer: TextIndexConsumer
}

export class VersionedTextIndex {
  readonly definition: TextIndexDefinition
  readonly #with: VersionedTextIndexOptions
  readonly #removals = new Set<Promise<void>>()
  #schema: TableSchema | undefined
  #current: Version
  #next: Version | undefined
  #isClosed = false

  /** `earlier` is the version of another schema that is found on disk: it answers meanwhile. */
  constructor(
    options: VersionedTextIndexOptions,
    schema: TableSchema | undefined,
    earlier: number | undefined,
  ) {
    this.#with = options
    this.definition = options.definition
    this.#schema = schema
    const version = indexVersionOf(schema)
    if (earlier === undefined || options.definition.memOnly) {
      this.#current = this.#start(version, { kind: 'given', schema })
    } else {
      this.#current = this.#start(earlier, { kind: 'stored' })
      this.#buildNext(version, schema)
    }
  }

  /** The log entries above this one are still needed. */
  get neededAbove(): number {
    const { consumer } = this.#current
    return Math.min(consumer.neededAbove, this.#next?.consumer.neededAbove ?? Infinity)
  }

  /** Infinity while the index does not serve: then nobody waits for it. */
  get servesUpTo(): number {
    const { consumer } = this.#current
    return consumer.state.kind === 'serving' ? consumer.applied : Infinity
  }

  async setSchema(schema: TableSchema | undefined): Promise<void> {
    const version = indexVersionOf(schema)
    const newest = this.#next ?? this.#current
    if (newest.version === version) {
      if (isDeepStrictEqual(schema, this.#schema)) return
      this.#schema = schema
      await newest.consumer.setSchema(schema)
      return
    }
    this.#schema = schema
    if (this.#next !== undefined) await this.#remove(this.#next)
    this.#next = undefined
    if (this.#current.consumer.state.kind === 'serving') {
      this.#current.consumer.retire()
      this.#buildNext(version, schema)
    } else {
      await this.#remove(this.#current)
      this.#current = this.#start(version, { kind: 'given', schema })
    }
  }

  async search(request: TextSearchRequest, limits: SearchLimits): Promise<TextSearchAnswer> {
    await this.#whenServing(limits)
    const { consumer } = this.#current
    await consumer.learnFields()
    return consumer.index.search(request, limits)
  }

  async statistics(request: TextStatisticsRequest, limits: SearchLimits): Promise<TextStatistics> {
    await this.#whenServing(limits)
    const { consumer } = this.#current
    await consumer.learnFields()
    return consumer.index.statistics(request, limits)
  }

  async highlight(
    request: TextHighlightRequest,
    limits: SearchLimits,
  ): Promise<readonly (Highlights | undefined)[]> {
    await this.#whenServing(limits)
    return this.#current.consumer.index.highlight(request, limits)
  }

  /** Resolves when what is committed up to this log entry is searchable. */
  async waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    // A version that was replaced meanwhile is closed: its successor knows.
    for (let waited; waited !== this.#current;) {
      waited = this.#current
      try {
        await waited.consumer.waitFor(sequence, signal)
      } catch (error) {
        if (waited === this.#current) throw error
      }
    }
  }

  /** Told without asking the worker. */
  health(): TextIndexHealth {
    const { consumer } = this.#current
    const own = consumer.activity
    const activity = own.kind === 'none' ? (this.#next?.consumer.activity ?? own) : own
    const answers = own.kind !== 'building' && own.kind !== 'failed'
    const { name } = this.definition
    return { name, activity, answers, entriesBehind: consumer.entriesBehind }
  }

  async status(): Promise<TextIndexStatus> {
    const { consumer } = this.#current
    const building = this.#next?.consumer ?? consumer
    const { state } = building
    const stats = await consumer.index.stats().catch(() => undefined)
    return {
      totalIndexed: stats?.documents ?? 0,
      diskUsage: stats?.bytesOnDisk ?? 0,
      rebuilding: state.kind === 'building',
      backfillProgress: await building.progress(),
      backfillItemsProcessed: state.kind === 'building' ? state.processed : 0,
      error: errorOf(consumer) ?? errorOf(building),
      documentsSetAside: consumer.setAsideCount,
      dropped: stats?.dropped ?? NOTHING_DROPPED,
    }
  }

  async close({ flush }: { readonly flush: boolean }): Promise<void> {
    this.#isClosed = true
    await this.#next?.consumer.close({ flush })
    await this.#current.consumer.close({ flush })
    await Promise.all(this.#removals)
  }

  async destroy(): Promise<void> {
    this.#isClosed = true
    await this.#next?.consumer.destroy()
    await this.#current.consumer.destroy()
    await Promise.all(this.#removals)
  }

  get #place(): IndexPlace {
    const { definition, table, shard } = this.#with
    return { table, shardId: shard.id, index: definition.name }
  }

  #start(version: number, source: SchemaSource): Version {
    const { definition, table, shard, fields, pool, root, clock, log, events } = this.#with
    const { name, memOnly } = definition
    const directory = memOnly ? undefined : path.join(root, indexDirectoryName(name, version))
    const index = pool.newIndex(`${table}/${shard.id}/${name}`)
    const consumer = new TextIndexConsumer({
      shard,
      fields,
      index,
      place: this.#place,
      directory,
      source,
      clock,
      log,
      events,
    })
    consumer.start()
    return { version, consumer }
  }

  #buildNext(version: number, schema: TableSchema | undefined): void {
    const next = this.#start(version, { kind: 'given', schema })
    this.#next = next
    void next.consumer.serving.then(() => this.#replaceBy(next))
  }

  async #replaceBy(next: Version): Promise<void> {
    const { consumer } = next
    const never = new AbortController().signal
    while (this.#next === next && consumer.applied < this.#current.consumer.applied) {
      try {
        await consumer.waitFor(this.#current.consumer.applied, never)
      } catch {
        return // closed meanwhile
      }
    }
    if (this.#isClosed || this.#next !== next) return
    const replaced = this.#current
    this.#current = next
    this.#next = undefined
    this.#with.log.info('text index was replaced', { ...this.#place, version: next.version })
    await this.#remove(replaced)
  }

  /** What cannot be removed now is a stranger at the next start, and is removed then. */
  #remove({ consumer, version }: Version): Promise<void> {
    const removal = consumer.destroy().catch((error: unknown) => {
      const fields = { ...this.#place, version, error: String(error) }
      this.#with.log.warn('text index not removed', fields)
    })
    this.#removals.add(removal)
    return removal.finally(() => this.#removals.delete(removal))
  }

  async #whenServing({ signal }: SearchLimits): Promise<void> {
    const { consumer } = this.#current
    if (consumer.state.kind === 'serving') return
    const over = new AbortController()
    const pause = AbortSignal.any([signal, over.signal])
    const enough = this.#with.clock.sleep(SERVING_WAIT_MAX_MS, pause).catch(() => undefined)
    await Promise.race([consumer.serving, enough])
    over.abort()
    if (this.#current.consumer.state.kind !== 'serving') throw await this.#notServing()
  }

  async #notServing(): Promise<ServiceError> {
    const { consumer } = this.#current
    const { name } = this.definition
    const { state } = consumer
    const percent = Math.floor((await consumer.progress()) * 100)
    const why = state.kind === 'failed' ? `failed: ${state.error}` : `is being built (${percent} %)`
    return new ServiceError('UNAVAILABLE', `the text index "${name}" ${why}; try again later`)
  }
}

function errorOf({ state }: TextIndexConsumer): string | undefined {
  switch (state.kind) {
    case 'failed':
      return state.error
    case 'building':
      return state.reason
    case 'serving':
      return undefined
    default:
      return unreachable(state)
  }
}
