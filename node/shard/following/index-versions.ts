// One index of a shard under its name, over changes of the schema.
//
//   current ──new schema──► current + next (builds) ──next serves──► next becomes current
//
// Invariants:
//   V1  One version answers searches, and follows the log until another one has caught up with it.
//   V2  On disk there are at most the version that answers and the one that is being built.

import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { NOTHING_DROPPED } from '../../index/host/drop-report.ts'
import type { IndexClient } from '../../index/host/index-client.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { SchemaSource } from '../../index/host/index-engine.ts'
import type { IndexWorkerPool } from '../../index/host/index-worker-pool.ts'
import type { SearchLimits } from '../../index/host/search-limits.ts'
import { feedOf } from '../../index/kinds/index-kinds.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { DocumentsBehind } from './documents-behind.ts'
import type { IndexHealth, IndexStatus } from './index-health.ts'
import type { IndexPlace } from './build-notices.ts'
import { errorOf, progressOf } from './follower-state.ts'
import type {
  AskLimits,
  IndexPosition,
  PlacedAnswer,
  PositionLimits,
  SearchFromLimits,
} from './index-position.ts'
import type { IndexEvents } from './index-events.ts'
import { IndexFollower } from './index-follower.ts'
import type { FollowedShard } from './followed-shard.ts'
import type { FindChunked } from './index-source.ts'
import type { TableFields } from './table-fields.ts'

/** A new table's index is open within this time, so that its first search need not be refused. */
const SERVING_WAIT_MAX_MS = 2000
/** Searches of other replicas wait 100 ms at most for the leader's index, and the leader's path is free meanwhile. */
const POSITION_WAIT_MAX_MS = 100
/** Longer than an index usually takes for a group of the log. After that the leader is asked, which costs less. */
const NEAR_WAIT_MAX_MS = 25

/** A given reason saves the error that `abort` would create. */
const WAIT_OVER = 'the wait for the index is over'

/** The parts that all versions of one index share. */
export interface IndexVersionsOptions {
  readonly definition: IndexDefinition
  readonly chunked: FindChunked
  readonly table: string
  readonly shard: FollowedShard
  readonly fields: TableFields
  readonly pool: IndexWorkerPool
  /** The directory of all indexes of the shard. */
  readonly root: string
  readonly clock: Clock
  readonly log: Log
  readonly events: IndexEvents
}

/** The part of a schema that decides how documents are mapped. */
const MAPPING_MEMBERS = [
  'document_schemas',
  'default_type',
  'language',
  'stop_words',
  'dynamic_templates',
] as const

/**
 * The version is 0 for a table without a schema, and stays 0 if its first schema changes no
 * mapping.
 */
export function indexVersionOf(schema: TableSchema | undefined): number {
  if (schema === undefined) return 0
  const isMapped = MAPPING_MEMBERS.some((member) => schema[member] !== undefined)
  return schema.version === 0 && !isMapped ? 0 : schema.version + 1
}

/**
 * What the names of an index's directories begin with. Indexes made from artifacts have those of their own id, so
 * that no later index of the same name finds them; names have no "~".
 */
export function directoryBaseOf({ name, kind, id }: IndexDefinition): string {
  return feedOf(kind) === 'artifacts' ? `${name}~${id}` : name
}

function indexDirectoryName(definition: IndexDefinition, version: number): string {
  return `${directoryBaseOf(definition)}-v${version}`
}

/** Undefined for a directory that is not an index's. */
export function parseIndexDirectoryName(
  directory: string,
): { readonly base: string; readonly version: number } | undefined {
  const { base, version } = /^(?<base>.+)-v(?<version>\d+)$/.exec(directory)?.groups ?? {}
  return base === undefined ? undefined : { base, version: Number(version) }
}

interface Version {
  readonly version: number
  readonly follower: IndexFollower
}

/**
 * One index under its name. It asks the version that answers, and replaces it when the schema
 * changes (V1, V2).
 */
export class IndexVersions {
  readonly definition: IndexDefinition
  readonly #with: IndexVersionsOptions
  readonly #removals = new Set<Promise<void>>()
  #schema: TableSchema | undefined
  #current: Version
  #next: Version | undefined
  #isClosed = false

  /** `earlier` is a version of another schema on the disk, which answers meanwhile. */
  constructor(
    options: IndexVersionsOptions,
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

  /** The version of the schema by which searches are answered. */
  get version(): number {
    return this.#current.version
  }

  /** The log entries above this one are still needed. */
  get neededAbove(): number {
    const { follower } = this.#current
    return Math.min(follower.neededAbove, this.#next?.follower.neededAbove ?? Infinity)
  }

  /** Infinity while the index does not serve: then nobody waits for it. */
  get servesUpTo(): number {
    const { follower } = this.#current
    return follower.state.kind === 'serving' ? follower.applied : Infinity
  }

  /** Whether the index answers, and shows everything up to this log entry. */
  hasReached(sequence: number): boolean {
    const { follower } = this.#current
    return follower.state.kind === 'serving' && follower.applied >= sequence
  }

  /** Whether the index shows everything up to this log entry, or will when it answers. */
  hasTaken(sequence: number): boolean {
    return this.#current.follower.applied >= sequence
  }

  async setSchema(schema: TableSchema | undefined): Promise<void> {
    const version = indexVersionOf(schema)
    const newest = this.#next ?? this.#current
    if (newest.version === version) {
      if (isDeepStrictEqual(schema, this.#schema)) return
      this.#schema = schema
      await newest.follower.setSchema(schema)
      return
    }
    this.#schema = schema
    if (this.#next !== undefined) await this.#remove(this.#next)
    this.#next = undefined
    if (this.#current.follower.state.kind === 'serving') {
      this.#current.follower.retire()
      this.#buildNext(version, schema)
    } else {
      await this.#remove(this.#current)
      this.#current = this.#start(version, { kind: 'given', schema })
    }
  }

  /**
   * INVALID_ARGUMENT for a request to another kind of index. UNAVAILABLE while it is being built, or does not reach
   * the log entry `atLeast`, or is behind what it has shown before.
   */
  async search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    asked: IndexRequest<Kind, Name>,
    limits: AskLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const { name, kind } = this.definition
    this.#with.events.questions += 1
    if (asked.kind !== kind) {
      const message = `index "${name}" is of kind ${kind} and answers no ${asked.kind} searches`
      throw new ServiceError('INVALID_ARGUMENT', message)
    }
    await this.#whenServing(limits)
    const atLeast = Math.max(limits.atLeast, this.#current.follower.promised)
    if (!this.hasReached(atLeast)) await this.#reached({ ...limits, atLeast }, SERVING_WAIT_MAX_MS)
    const { follower } = this.#current
    await follower.learnFields()
    limits.onAsk?.()
    return follower.index.ask<IndexAnswer<Kind, Name>>(asked, limits)
  }

  /** The index, if `search` would ask it without waiting for anything before; it counts as asked. */
  atOnce(kind: QueryableKind, atLeast: number): IndexClient | undefined {
    const { follower } = this.#current
    if (kind !== this.definition.kind || !follower.knowsFields) return undefined
    if (!this.hasReached(Math.max(atLeast, follower.promised))) return undefined
    this.#with.events.questions += 1
    return follower.index
  }

  /** Waits a moment for the log entry `atLeast`. UNAVAILABLE while the index does not serve. */
  async position(limits: PositionLimits): Promise<IndexPosition> {
    if (!this.hasReached(limits.atLeast)) await this.#wait(limits, POSITION_WAIT_MAX_MS)
    const { version, follower } = this.#current
    if (follower.state.kind !== 'serving') throw await this.#notServing()
    return { version, sequence: follower.applied }
  }

  /** As `search`, by the version of the position: UNAVAILABLE while another one answers. */
  async searchFrom<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    asked: IndexRequest<Kind, Name>,
    { from, ...limits }: SearchFromLimits,
  ): Promise<PlacedAnswer<IndexAnswer<Kind, Name>>> {
    const atLeast = from.sequence
    const { version, follower } = this.#current
    if (follower.state.kind !== 'serving') throw await this.#notServing()
    if (!this.hasReached(atLeast)) {
      // Its replica may hear of the entry with the next heartbeat only: nobody waits for that.
      const waitMs = this.#with.shard.committedSequence < atLeast ? 0 : NEAR_WAIT_MAX_MS
      await this.#reached({ ...limits, atLeast }, waitMs)
    }
    const answer = await this.search(asked, { ...limits, atLeast })
    const isSame = version === from.version && this.#current.version === version
    if (!isSame) throw this.#refused('has another version here')
    return { answer, shownThrough: follower.shown }
  }

  /** Resolves when all commits up to this log entry are searchable. */
  async waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    // A version that was replaced meanwhile is closed: its successor knows.
    for (let waited; waited !== this.#current;) {
      waited = this.#current
      try {
        await waited.follower.waitFor(sequence, signal)
      } catch (error) {
        if (waited === this.#current) throw error
      }
    }
  }

  /** What the version that answers has not taken. */
  get taken(): Pick<DocumentsBehind, 'waiting' | 'setAside'> {
    const { follower } = this.#current
    return { waiting: follower.untaken, setAside: follower.setAsideCount }
  }

  /** Resolves when it is known what the index has taken, or after a moment. */
  async opened(): Promise<void> {
    const over = new AbortController()
    const enough = this.#with.clock.sleep(SERVING_WAIT_MAX_MS, over.signal).catch(() => undefined)
    await Promise.race([this.#current.follower.opened, enough])
    over.abort(WAIT_OVER)
  }

  /** Told without asking the worker. */
  health(): Omit<IndexHealth, 'behind'> {
    const { follower } = this.#current
    const own = follower.activity
    const activity = own.kind === 'none' ? (this.#next?.follower.activity ?? own) : own
    const isAsBefore = follower.applied >= follower.promised
    const answers = own.kind !== 'building' && own.kind !== 'failed' && isAsBefore
    const { name, kind } = this.definition
    const { entriesBehind } = follower
    return { name, kind, activity, answers, entriesBehind }
  }

  /** Builds what answers anew. What is being built meanwhile replaces it later, and is built anew as well. */
  rebuild(reason: string): void {
    this.#current.follower.rebuild(reason)
    this.#next?.follower.rebuild(reason)
  }

  /** But for how its artifacts are made. */
  async status(): Promise<Omit<IndexStatus, 'enrichment' | 'behind'>> {
    await this.opened()
    const { follower } = this.#current
    const newest = this.#next?.follower ?? follower
    const { state } = newest
    const stats = await follower.index.stats().catch(() => undefined)
    return {
      totalIndexed: stats?.documents ?? 0,
      diskUsage: stats?.bytesOnDisk ?? 0,
      rebuilding: state.kind === 'building' || state.kind === 'opening',
      backfillProgress: await progressOf(state),
      backfillItemsProcessed: state.kind === 'building' ? state.backfill.processed : 0,
      error: errorOf(follower.state) ?? errorOf(newest.state),
      documentsSetAside: follower.setAsideCount,
      dropped: stats?.dropped ?? NOTHING_DROPPED,
    }
  }

  /** Does nothing for an index that is in memory only, is being built, or has no checkpoint. */
  async linkFiles(directory: string): Promise<void> {
    const { follower, version } = this.#current
    const { kind, memOnly } = this.definition
    if (memOnly || follower.state.kind !== 'serving') return
    const into = path.join(directory, indexDirectoryName(this.definition, version))
    await mkdir(into, { mode: 0o700 })
    try {
      const { checkpoint } = await follower.index.snapshot(into)
      if (checkpoint > 0) return
    } catch (error) {
      this.#with.log.warn(`${kind} index not linked`, { ...this.#place, error: String(error) })
    }
    await rm(into, { recursive: true, force: true })
  }

  async close({ flush }: { readonly flush: boolean }): Promise<void> {
    this.#isClosed = true
    await this.#next?.follower.close({ flush })
    await this.#current.follower.close({ flush })
    await Promise.all(this.#removals)
  }

  async destroy(): Promise<void> {
    this.#isClosed = true
    await this.#next?.follower.destroy()
    await this.#current.follower.destroy()
    await Promise.all(this.#removals)
  }

  get #place(): IndexPlace {
    const { definition, table, shard } = this.#with
    return { table, shardId: shard.id, index: definition.name }
  }

  #start(version: number, source: SchemaSource): Version {
    const { definition, chunked, table, shard, fields, pool, root, clock, log, events } = this.#with
    const { name, kind, memOnly } = definition
    const directory = memOnly ? undefined : path.join(root, indexDirectoryName(definition, version))
    const place = { name: `${table}/${shard.id}/${name}`, spread: `${table}/${name}` }
    const index = pool.newIndex({ ...place, kind })
    const follower = new IndexFollower({
      shard,
      fields,
      index,
      definition,
      chunked,
      place: this.#place,
      directory,
      source,
      clock,
      log,
      events,
    })
    follower.start()
    return { version, follower }
  }

  #buildNext(version: number, schema: TableSchema | undefined): void {
    const next = this.#start(version, { kind: 'given', schema })
    this.#next = next
    void next.follower.serving.then(() => this.#replaceBy(next))
  }

  async #replaceBy(next: Version): Promise<void> {
    const { follower } = next
    const never = new AbortController().signal
    while (this.#next === next && follower.applied < this.#current.follower.applied) {
      try {
        await follower.waitFor(this.#current.follower.applied, never)
      } catch {
        return // closed meanwhile
      }
    }
    if (this.#isClosed || this.#next !== next) return
    const replaced = this.#current
    this.#current = next
    this.#next = undefined
    this.#with.log.info(`${this.definition.kind} index was replaced`, {
      ...this.#place,
      version: next.version,
    })
    await this.#remove(replaced)
  }

  /** If this fails, the next start finds a version that it does not know, and removes it. */
  #remove({ follower, version }: Version): Promise<void> {
    const removal = follower.destroy().catch((error: unknown) => {
      const fields = { ...this.#place, version, error: String(error) }
      this.#with.log.warn(`${this.definition.kind} index not removed`, fields)
    })
    this.#removals.add(removal)
    return removal.finally(() => this.#removals.delete(removal))
  }

  async #whenServing({ signal }: SearchLimits): Promise<void> {
    const { follower } = this.#current
    if (follower.state.kind === 'serving') return
    const over = new AbortController()
    const pause = AbortSignal.any([signal, over.signal])
    const enough = this.#with.clock.sleep(SERVING_WAIT_MAX_MS, pause).catch(() => undefined)
    await Promise.race([follower.serving, enough])
    over.abort()
    if (this.#current.follower.state.kind !== 'serving') throw await this.#notServing()
  }

  async #notServing(): Promise<ServiceError> {
    const { state } = this.#current.follower
    const percent = Math.floor((await progressOf(state)) * 100)
    return this.#refused(
      state.kind === 'failed' ? `failed: ${state.error}` : `is being built (${percent} %)`,
    )
  }

  async #reached(limits: PositionLimits, waitMs: number): Promise<void> {
    if (waitMs > 0) await this.#wait(limits, waitMs)
    if (!this.hasReached(limits.atLeast)) throw this.#refused('is behind the log')
  }

  /** Resolves when the index has read the entry `atLeast`, at the end of the search, or after `waitMs`. */
  async #wait({ signal, atLeast }: PositionLimits, waitMs: number): Promise<void> {
    const over = new AbortController()
    const pause = AbortSignal.any([signal, over.signal])
    const enough = this.#with.clock.sleep(waitMs, pause)
    const reached = this.waitFor(atLeast, pause)
    await Promise.race([Promise.allSettled([enough]), Promise.allSettled([reached])])
    over.abort(WAIT_OVER)
  }

  #refused(why: string): ServiceError {
    const { name, kind } = this.definition
    return new ServiceError('UNAVAILABLE', `the ${kind} index "${name}" ${why}; try again later`)
  }
}
