// What the text indexes of all tables are at, for the status and the metrics of the node.

import type { TextIndexActivity, TextIndexHealth } from '../../shard/shard.ts'
import type { LedShards } from '../led-shards.ts'
import type { OpenTable } from './open-table.ts'

/** Counted by shard: an index of a table of four shards counts four times. */
export interface TextIndexCounts {
  readonly building: number
  readonly failed: number
  readonly catchingUp: number
  /** Whatever the reason, searches of them are refused. */
  readonly refusing: number
  /** Of the index that is furthest behind. */
  readonly entriesBehindMax: number
}

export interface TextIndexTrouble {
  /** For people. */
  readonly message: string
  /** Whether searches of the index miss shards until it is over. */
  readonly refusesSearches: boolean
}

export function countTextIndexes(tables: readonly OpenTable[], led: LedShards): TextIndexCounts {
  const counts = { none: 0, building: 0, failed: 0, catching_up: 0 }
  let refusing = 0
  let entriesBehindMax = 0
  for (const table of tables) {
    for (const { activity, answers, entriesBehind } of textIndexHealthOf(table, led)) {
      counts[activity.kind] += 1
      // An index of a table without documents is opened in a moment, and searches wait for it.
      if (!answers && activity.kind !== 'none') refusing += 1
      entriesBehindMax = Math.max(entriesBehindMax, entriesBehind)
    }
  }
  const { building, failed, catching_up: catchingUp } = counts
  return { building, failed, catchingUp, refusing, entriesBehindMax }
}

/** One for each index of the table and each thing that its shards are at. */
export function textIndexTroubles(table: OpenTable, led: LedShards): readonly TextIndexTrouble[] {
  const all = textIndexHealthOf(table, led).filter(({ activity }) => activity.kind !== 'none')
  const alike = Object.groupBy(all, ({ name, activity }) => `${activity.kind} ${name}`)
  return Object.values(alike).flatMap((shards = []) => troubleOf(table, shards))
}

const SAYINGS: Readonly<Record<Exclude<TextIndexActivity['kind'], 'none'>, string>> = {
  building: 'is being built',
  failed: 'failed',
  catching_up: 'is catching up after a restart',
}

function troubleOf(table: OpenTable, shards: readonly TextIndexHealth[]): TextIndexTrouble[] {
  const [first] = shards
  if (first === undefined || first.activity.kind === 'none') return []
  const { name, activity } = first
  const where = `on ${shards.length} of ${table.shards.length} shards`
  const what = `text index "${name}" of table "${table.tableName}" ${SAYINGS[first.activity.kind]}`
  const why = activity.reason === undefined ? '' : ` (${activity.reason})`
  const refusesSearches = shards.some(({ answers }) => !answers)
  const isEverywhere = shards.length === table.shards.length
  const effect = isEverywhere ? 'searches are refused' : 'searches miss their documents'
  const meanwhile = refusesSearches ? `; ${effect} meanwhile` : ''
  return [{ message: `${what} ${where}${why}${meanwhile}`, refusesSearches }]
}

/** Of the shards that are led here. */
export function textIndexHealthOf(table: OpenTable, led: LedShards): readonly TextIndexHealth[] {
  return led.among(table.shards).flatMap((shard) => shard.textIndexHealth())
}
