// Replicas of the shards of one table that race for the names of its fields: real indexes and real lists of
// fields, each replica with its own view of the list, at its own pace, through kills and rebuilds.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ManualClock, systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { DocumentBatch, DocumentChange } from '../../../node/index/host/document-batch.ts'
import { TextEngine } from '../../../node/index/text/hosted/text-engine.ts'
import { nameOf, type TableField } from '../../../node/schema/table-field.ts'
import { DocumentSender } from '../../../node/shard/following/document-sender.ts'
import { IndexEvents } from '../../../node/shard/following/index-events.ts'
import { LearntFields } from '../../../node/shard/following/learnt-fields.ts'
import { SetAsideDocuments } from '../../../node/shard/following/set-aside-documents.ts'
import type { TableFields } from '../../../node/shard/following/table-fields.ts'
import { WORDS } from './text-shard.ts'

const NAMES = 16_000
const NAMES_EACH = 900
const KEYS = 12

export type Value = string | number
export type Content = Readonly<Record<string, Value>>

/** The versions of documents of one shard, in the order of its log. */
export interface ShardLog {
  readonly entries: readonly { readonly key: string; readonly content: Content | undefined }[]
}

/** Documents have names of one pool, which no table can hold, and one name in ten has numbers as well. */
export function makeLog(random: Random, shard: number, length: number): ShardLog {
  const below = (bound: number): number => Math.floor(random() * bound)
  const entries = Array.from({ length }, () => {
    const key = `s${shard}-${below(KEYS)}`
    if (below(8) === 0) return { key, content: undefined }
    const content: Record<string, Value> = { at: below(100) }
    for (let i = 0; i < NAMES_EACH; i += 1) {
      const name = below(NAMES)
      content[`f${name}`] = name % 10 === 0 && below(2) === 0 ? below(1000) : 'alpha'
    }
    return { key, content }
  })
  return { entries }
}

/** The newest version of each key among the first `end` entries; undefined for a deleted document. */
export function newestOf({ entries }: ShardLog, end = entries.length) {
  const newest = new Map<string, Content | undefined>()
  for (const { key, content } of entries.slice(0, end)) newest.set(key, content)
  return newest
}

/** Ends whatever a replica does, as the end of its process would. */
export class Killed extends RangeError {}

/** One index of one shard, in a process that may be killed at any of its calls. */
export class RacingReplica {
  readonly log: ShardLog
  readonly #openFields: () => TableFields
  readonly #stop = new AbortController()
  #directory = mkdtempSync(path.join(tmpdir(), 'field-race-'))
  #engine: TextEngine | undefined
  #sender: DocumentSender | undefined
  #learnt: LearntFields | undefined
  applied = 0

  constructor(log: ShardLog, openFields: () => TableFields) {
    this.log = log
    this.#openFields = openFields
  }

  get isAtEnd(): boolean {
    return this.applied === this.log.entries.length
  }

  get engine(): TextEngine {
    if (this.#engine === undefined) throw new RangeError('the replica is closed')
    return this.#engine
  }

  /** As a start does: with the list as it is now, from the checkpoint. */
  async open(): Promise<void> {
    this.#engine?.close()
    this.#engine = undefined
    const place = { table: 'books', shardId: 'shard', index: 'words' }
    const index = {
      apply: async (batch: DocumentBatch) => {
        const { taken, undecided } = runAtOnce(this.engine.apply(batch))
        return { taken, undecided, checkpoint: this.engine.checkpoint }
      },
      learn: async (fields: readonly TableField[]) => runAtOnce(this.engine.learn(fields)),
    }
    const fields = new LearntFields({
      fields: this.#openFields(),
      index,
      place,
      clock: systemClock,
      log: silentLog,
      signal: this.#stop.signal,
    })
    const setAside = new SetAsideDocuments(place, { log: silentLog, events: new IndexEvents() })
    this.#sender = new DocumentSender({ index, fields, setAside })
    this.#learnt = fields
    await fields.load()
    this.#engine = TextEngine.open(
      {
        definition: WORDS,
        directory: this.#directory,
        source: { kind: 'given', schema: undefined },
        fields: fields.forOpening(),
      },
      { clock: new ManualClock() },
    )
    this.applied = this.#engine.checkpoint
  }

  /** Takes some entries of the log together: of each document only its newest version is there to read. */
  async follow(count: number): Promise<void> {
    const to = Math.min(this.log.entries.length, this.applied + count)
    const newest = newestOf(this.log, to)
    const touched = new Set(this.log.entries.slice(this.applied, to).map(({ key }) => key))
    await this.#send(
      to,
      [...touched].map((key) => changeOf(key, newest.get(key))),
    )
    this.applied = to
  }

  flush(): void {
    runAtOnce(this.engine.flush(this.applied))
  }

  /** Builds the index anew, by a walk through the documents in the order of their keys. */
  async rebuild(): Promise<void> {
    rmSync(this.#directory, { recursive: true })
    this.#directory = mkdtempSync(path.join(tmpdir(), 'field-race-'))
    await this.open()
    const newest = newestOf(this.log)
    const keys = [...newest.keys()].toSorted()
    await this.#send(
      0,
      keys.map((key) => changeOf(key, newest.get(key))),
    )
    this.applied = this.log.entries.length
  }

  /** As before a search. */
  async learn(): Promise<void> {
    await this.#learnt?.load()
    await this.#learnt?.tell()
  }

  /** The keys of the documents that have a value by this name. */
  keysWith(field: string): string {
    const request = {
      query: { kind: 'exists', field, boost: 1 },
      limit: 100,
      countTotal: true,
    } as const
    const { hits } = this.engine.index.search({ ...request, nowMs: 1 })
    return hits
      .map(({ key }) => Buffer.from(key).toString())
      .toSorted()
      .join()
  }

  get names(): readonly string[] {
    return this.engine.mapping.fields.map(nameOf)
  }

  close(): void {
    this.#stop.abort()
    this.#engine?.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #send(sequence: number, changes: readonly DocumentChange[]): Promise<void> {
    await this.#learnt?.tell()
    await this.#sender?.send(sequence, changes)
  }
}

function changeOf(key: string, content: Content | undefined): DocumentChange {
  const json = content === undefined ? undefined : Buffer.from(JSON.stringify(content))
  return { key: Buffer.from(key), json, expiresAtMs: 0 }
}

/** Whether a value is found by the name of a field of this kind. */
export function fits(kind: TableField['kind'], value: Value): boolean {
  return kind === 'number' ? typeof value === 'number' : true
}
