// The writes of clients: each request is one transaction, once for each Idempotency-Key, and is searchable at its end
// if its sync level asks for that.

import { InvariantError } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { runInTurn, type Sliced } from '../../../lib/sliced.ts'
import { waitForIndexes, waitsForIndexes } from '../../catalog/answers/index-wait.ts'
import type { KnownTables } from '../../catalog/tables/known-tables.ts'
import type { ReadClaim, TableWrites } from '../../document/writes.ts'
import type { Idempotency } from '../idempotency.ts'
import type { RunOutcome, TransactionConflict } from '../run-outcome.ts'
import { PartCollector } from '../transaction-part.ts'
import type { RunOptions } from '../transaction-runner.ts'
import type { WriteOptions } from '../write-options.ts'
import type { EnrichedWriter } from './enriched-writer.ts'
import { mergePage, type LinearMergeOptions } from './linear-merge.ts'
import type { MergeRequest, MergeResult } from './linear-merge-request.ts'

/** Counts of request entries, not of effective changes. */
export interface WriteCounts {
  readonly inserted: number
  readonly deleted: number
  readonly transformed: number
}

/** Why a commit has changed nothing: the first key whose version or holder was in its way. */
export interface CommitConflict {
  readonly table: string
  readonly key: string
  readonly message: string
}

export type CommitResult =
  | { readonly status: 'committed'; readonly tables: Readonly<Record<string, WriteCounts>> }
  | { readonly status: 'aborted'; readonly conflict: CommitConflict }

/** What is written with. `scan` as in LinearMergeOptions, until the signal aborts. */
export interface RequestWriterOptions {
  readonly clock: Clock
  readonly tables: KnownTables
  readonly writer: EnrichedWriter
  readonly idempotency: Idempotency
  readonly scan: (signal: AbortSignal) => LinearMergeOptions['scan']
}

/** A request that writes. `answer` is the answer of a commit, `answerOf` makes that of a conflict. */
interface Transacted<Answer> {
  readonly writes: readonly TableWrites[]
  readonly readSet: readonly ReadClaim[]
  readonly onContention: RunOptions['onContention']
  readonly answer: Answer
  readonly answerOf: (conflict: TransactionConflict) => Answer
}

/** The writes of `StoreService`. */
export class RequestWriter {
  readonly #with: RequestWriterOptions

  constructor(options: RequestWriterOptions) {
    this.#with = options
  }

  batch(writes: TableWrites, options: WriteOptions): Promise<WriteCounts> {
    return this.#writeAll([writes], countsOf(writes), options)
  }

  crossBatch(
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<Readonly<Record<string, WriteCounts>>> {
    return this.#writeAll(writes, countsByTable(writes), options)
  }

  commit(
    readSet: readonly ReadClaim[],
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<CommitResult> {
    return this.#transact<CommitResult>(options, {
      writes,
      readSet,
      onContention: 'refuse',
      answer: { status: 'committed', tables: countsByTable(writes) },
      answerOf: abortedBy,
    })
  }

  async merge(name: string, request: MergeRequest): Promise<MergeResult> {
    const { clock, writer, tables, scan } = this.#with
    const { signal = new AbortController().signal } = request.options
    const table = await tables.learn(name)
    const result = await mergePage({ clock, writer, scan: scan(signal) }, table, request)
    if (!request.dryRun) await waitForIndexes(clock, table.shards, request.options)
    return result
  }

  #writeAll<Answer>(
    writes: readonly TableWrites[],
    answer: Answer,
    options: WriteOptions,
  ): Promise<Answer> {
    return this.#transact(options, {
      writes,
      readSet: [],
      onContention: 'wait',
      answer,
      answerOf: neverInConflict, // without a read set there is nothing that could conflict
    })
  }

  async #transact<Answer>(options: WriteOptions, request: Transacted<Answer>): Promise<Answer> {
    const { clock, tables, writer, idempotency } = this.#with
    const { syncLevel, signal } = options
    const { writes, readSet, onContention, answer, answerOf } = request
    const learning = tables.learnAll([...writes, ...readSet].map(({ table }) => table))
    if (learning !== undefined) await learning
    let collector: PartCollector | undefined
    const collect = (): PartCollector | Promise<PartCollector> =>
      runInTurn(this.#collect(readSet, writes), { clock, signal })
    const run = (collected: PartCollector): Promise<RunOutcome> => {
      collector = collected
      return writer.run(collected.parts, { onContention, syncLevel, signal })
    }
    if (options.idempotency === undefined) {
      const collected = collect()
      const outcome = await run(collected instanceof Promise ? await collected : collected)
      if (outcome.kind !== 'committed') return answerOf(outcome)
      if (waitsForIndexes(options)) await this.#searchable(writes, collector, options)
      return answer
    }
    const once = { ...options.idempotency, collect, run, answer, answerOf, signal }
    const first = await idempotency.once<Answer>(once)
    await this.#searchable(writes, collector, options)
    return first
  }

  *#collect(readSet: readonly ReadClaim[], writes: readonly TableWrites[]): Sliced<PartCollector> {
    const { tables } = this.#with
    const collector = new PartCollector()
    const written = writes.map((one) => [tables.get(one.table), one] as const) // unknown ones before any work
    if (readSet.length > 0) yield* collector.addClaims(readSet, (name) => tables.get(name))
    for (const [table, one] of written) yield* collector.addWrites(table, one)
    return collector
  }

  /**
   * Waits until the written shards show the write to searches. Without a collector an earlier request
   * of the same Idempotency-Key has written; then this waits for all shards of its tables.
   */
  #searchable(
    writes: readonly TableWrites[],
    collector: PartCollector | undefined,
    options: WriteOptions,
  ): Promise<void> {
    const { clock, tables } = this.#with
    const written =
      collector === undefined
        ? writes.flatMap(({ table }) => tables.find(table)?.shards ?? [])
        : collector.parts.filter(({ ops }) => ops.length > 0).map(({ shard }) => shard)
    return waitForIndexes(clock, written, options)
  }
}

function abortedBy({ table, key, message }: TransactionConflict): CommitResult {
  return { status: 'aborted', conflict: { table, key: key.toString(), message } }
}

function neverInConflict({ message }: TransactionConflict): never {
  throw new InvariantError(`a write without a read set was in conflict: ${message}`)
}

function countsOf({ inserts, deletes, transforms }: TableWrites): WriteCounts {
  return { inserted: inserts.length, deleted: deletes.length, transformed: transforms.length }
}

function countsByTable(writes: readonly TableWrites[]): Readonly<Record<string, WriteCounts>> {
  return Object.fromEntries(writes.map((one) => [one.table, countsOf(one)]))
}
