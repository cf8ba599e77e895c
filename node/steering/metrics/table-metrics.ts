// The sizes of tables, for the metrics. Measuring is expensive, because it asks every shard and every
// index worker. So it happens at a scrape, at most once in KEPT_MS, and few tables have their own samples.

import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import { familyLines, type Sample } from '../../../lib/metrics.ts'
import { SliceClock } from '../../../lib/sliced.ts'
import type { Shard } from '../../shard/shard.ts'
import type { LedShards } from '../../catalog/tables/led-shards.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import { documentsBehindOf, indexHealthOf } from '../index-summary.ts'

/** Tables with samples of their own, those with the most bytes; the others are one sample together. */
export const TABLES_SHOWN_MAX = 100
/** No name of a table has a space. */
export const OTHER_TABLES = 'all others'
const KEPT_MS = 10_000
/** A scrape waits no longer than this, and then shows the figures of the last measurement. */
const PATIENCE_MS = 1000

interface TableFigures {
  readonly name: string
  /** As a text index of the table counts them; undefined without one. */
  readonly documents: number | undefined
  readonly storeBytes: number
  /** The bytes of the files of all its text indexes. */
  readonly indexBytes: number
  /** The log entries that the slowest index of any shard has not read. */
  readonly entriesBehind: number
  /** Documents that searches of the table may lack. */
  readonly documentsBehind: number
}

/** `tables` lists the tables to measure; `led` are the shards whose stores this node can ask. */
export interface TableMetricsOptions {
  readonly clock: Clock
  readonly tables: () => readonly OpenTable[]
  readonly led: LedShards
}

/** Measures the tables at a scrape, at most once in KEPT_MS. */
export class TableMetrics {
  readonly #with: TableMetricsOptions
  #figures: readonly TableFigures[] = []
  #measuredAtMs = -Infinity
  #measuring: Promise<void> | undefined

  constructor(options: TableMetricsOptions) {
    this.#with = options
  }

  async lines(): Promise<readonly string[]> {
    const { clock } = this.#with
    if (clock.monotonicMs() - this.#measuredAtMs >= KEPT_MS) {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = undefined
      })
      // After a failure the next scrape measures again.
      await answerWithin(this.#measuring, { clock, ms: PATIENCE_MS })
    }
    return linesOf(withinBounds(this.#figures))
  }

  /** One table after the other: each of a thousand may have dozens of shards to ask. */
  async #measure(): Promise<void> {
    const { clock, tables, led } = this.#with
    const slice = new SliceClock(clock)
    const figures: TableFigures[] = []
    for (const table of tables()) {
      figures.push(await figuresOf(table, led))
      if (slice.isOver) await slice.turn()
    }
    this.#figures = figures
    this.#measuredAtMs = clock.monotonicMs()
  }
}

async function figuresOf(table: OpenTable, led: LedShards): Promise<TableFigures> {
  const health = indexHealthOf(table, led)
  const indexes = await Promise.all(table.indexes.map(({ name }) => sizeOf(table, name)))
  const stores = led.among(table.shards).map(({ store }) => store)
  return {
    name: table.tableName,
    documents: indexes[0]?.documents,
    storeBytes: sum(await Promise.all(stores.map((store) => store.approximateBytes({})))),
    indexBytes: sum(indexes.map(({ bytes }) => bytes)),
    entriesBehind: Math.max(0, ...health.map(({ entriesBehind }) => entriesBehind)),
    documentsBehind: documentsBehindOf(table, led),
  }
}

interface IndexSize {
  readonly documents: number
  readonly bytes: number
}

async function sizeOf({ shards }: OpenTable, index: string): Promise<IndexSize> {
  const sizes = await Promise.all(shards.map((shard) => shardSizeOf(shard, index)))
  return {
    documents: sum(sizes.map(({ documents }) => documents)),
    bytes: sum(sizes.map(({ bytes }) => bytes)),
  }
}

async function shardSizeOf(shard: Shard, index: string): Promise<IndexSize> {
  try {
    const { totalIndexed: documents, diskUsage: bytes } = await shard.indexStatus(index)
    return { documents, bytes }
  } catch {
    return { documents: 0, bytes: 0 } // the shard failed, which the status of the node tells
  }
}

function withinBounds(figures: readonly TableFigures[]): readonly TableFigures[] {
  if (figures.length <= TABLES_SHOWN_MAX) return figures
  const bytesOf = (one: TableFigures): number => one.storeBytes + one.indexBytes
  const sorted = figures.toSorted((a, b) => bytesOf(b) - bytesOf(a))
  const others = sorted.slice(TABLES_SHOWN_MAX)
  return [...sorted.slice(0, TABLES_SHOWN_MAX), together(others)]
}

function together(figures: readonly TableFigures[]): TableFigures {
  return {
    name: OTHER_TABLES,
    documents: sum(figures.map(({ documents = 0 }) => documents)),
    storeBytes: sum(figures.map(({ storeBytes }) => storeBytes)),
    indexBytes: sum(figures.map(({ indexBytes }) => indexBytes)),
    entriesBehind: Math.max(0, ...figures.map(({ entriesBehind }) => entriesBehind)),
    documentsBehind: sum(figures.map(({ documentsBehind }) => documentsBehind)),
  }
}

function linesOf(figures: readonly TableFigures[]): readonly string[] {
  const family = (
    name: string,
    help: string,
    valueOf: (one: TableFigures) => number | undefined,
  ): readonly string[] => {
    const samples = figures.flatMap((one): readonly Sample[] => {
      const value = valueOf(one)
      return value === undefined ? [] : [{ labels: { table: one.name }, value }]
    })
    return familyLines({ name, type: 'gauge', help, samples })
  }
  return [
    ...family(
      'quarry_table_documents',
      'Documents of the table, counted by its first text index.',
      ({ documents }) => documents,
    ),
    ...family(
      'quarry_table_store_bytes',
      'Bytes of the table in its stores, roughly, with history and log.',
      ({ storeBytes }) => storeBytes,
    ),
    ...family(
      'quarry_table_index_bytes',
      "Bytes of the files of the table's text indexes.",
      ({ indexBytes }) => indexBytes,
    ),
    ...family(
      'quarry_table_index_entries_behind',
      'Log entries that the slowest text index of the table has not read.',
      ({ entriesBehind }) => entriesBehind,
    ),
    ...family(
      'quarry_table_index_documents_behind',
      'Documents that searches of the table may lack: of each shard, those of the index that lacks most.',
      ({ documentsBehind }) => documentsBehind,
    ),
  ]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
