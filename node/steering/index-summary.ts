// The health of the indexes of all tables, for the status and the metrics of the node.

import { runAtOnce, StepMeter, type Sliced } from '../../lib/sliced.ts'
import type { IndexActivity, IndexHealth } from '../shard/following/index-health.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import type { ModelKeys } from '../catalog/tables/model-keys.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'

/** A step reads the health of the indexes of 64 shards, in about a millisecond. */
const SHARDS_PER_STEP = 64

/** Counted by shard: an index of a table of four shards counts four times. */
export interface IndexCounts {
  readonly building: number
  readonly failed: number
  readonly catchingUp: number
  /** Indexes that refuse searches, for any reason. */
  readonly refusing: number
  /** The log entries that the slowest index has not read. */
  readonly entriesBehindMax: number
  /** Documents that searches may lack: of each shard, those of the index that lacks most. */
  readonly documentsBehind: number
}

/** Those of a node that has not opened its tables. */
export const NO_INDEXES: IndexCounts = {
  building: 0,
  failed: 0,
  catchingUp: 0,
  refusing: 0,
  entriesBehindMax: 0,
  documentsBehind: 0,
}

/** A problem of one index that the status of the node reports. */
export interface IndexTrouble {
  /** A sentence for operators. */
  readonly message: string
  /** Whether searches of the index miss shards until it is over. */
  readonly refusesSearches: boolean
}

/** As `countIndexesSliced`, for readers that cannot wait. */
export function countIndexes(tables: readonly OpenTable[], led: LedShards): IndexCounts {
  return runAtOnce(countIndexesSliced(tables, led))
}

export function* countIndexesSliced(
  tables: readonly OpenTable[],
  led: LedShards,
): Sliced<IndexCounts> {
  const meter = new StepMeter(SHARDS_PER_STEP)
  const counts = { none: 0, building: 0, failed: 0, catching_up: 0 }
  let refusing = 0
  let entriesBehindMax = 0
  let documentsBehind = 0
  for (const table of tables) {
    if (meter.spend(Math.max(1, table.shards.length))) yield
    for (const { activity, answers, entriesBehind } of indexHealthOf(table, led)) {
      counts[activity.kind] += 1
      // An index of a table without documents is opened in a moment, and searches wait for it.
      if (!answers && activity.kind !== 'none') refusing += 1
      entriesBehindMax = Math.max(entriesBehindMax, entriesBehind)
    }
    documentsBehind += documentsBehindOf(table, led)
  }
  const { building, failed, catching_up: catchingUp } = counts
  return { building, failed, catchingUp, refusing, entriesBehindMax, documentsBehind }
}

/** On the shards that this node leads. */
export function documentsBehindOf(table: OpenTable, led: LedShards): number {
  return led.among(table.shards).reduce((sum, shard) => sum + shard.documentsBehind, 0)
}

/** One problem for each index of the table and each kind of activity of its shards. */
export function indexTroubles(
  table: OpenTable,
  led: LedShards,
  keys: ModelKeys,
): readonly IndexTrouble[] {
  const all = indexHealthOf(table, led).filter(({ activity }) => activity.kind !== 'none')
  const alike = Object.groupBy(all, ({ name, activity }) => `${activity.kind} ${name}`)
  const ofIndexes = Object.values(alike).flatMap((shards = []) => troubleOf(table, shards))
  return [...ofIndexes, ...enrichmentTroubles(table, led), ...keyTroubles(table, keys)]
}

/** A key under another accepted secret makes no trouble: the controller's node seals it anew. */
function keyTroubles({ tableName, record }: OpenTable, keys: ModelKeys): readonly IndexTrouble[] {
  const { plain, none } = keys.of(record.indexes)
  const told = (names: readonly string[], what: string, remedy: string): readonly IndexTrouble[] =>
    [...new Set(names)].map((name) => {
      const message = `index "${name}" of table "${tableName}" ${what}; ${remedy}`
      return { message, refusesSearches: false }
    })
  return [
    ...told(
      plain,
      'keeps the key of a model in plain in the catalog',
      'any change of the table seals it',
    ),
    ...told(
      none,
      'has a key of a model that no secret of this node opens',
      'accept the secret again by which it was sealed, or create the index again',
    ),
  ]
}

/** Searches find what has a vector; so they are not refused. */
function enrichmentTroubles(table: OpenTable, led: LedShards): readonly IndexTrouble[] {
  const shards = led.among(table.shards)
  return table.indexes.flatMap(({ id, name }) => {
    const errors = shards.flatMap(({ enrichers }) => enrichers.get(id)?.error ?? [])
    const [error] = errors
    if (error === undefined) return []
    const where = `on ${errors.length} of ${table.shards.length} shards`
    const what = `index "${name}" of table "${table.tableName}" gets no vectors ${where}`
    return [{ message: `${what} (${error})`, refusesSearches: false }]
  })
}

const STATE_TEXTS: Readonly<Record<Exclude<IndexActivity['kind'], 'none'>, string>> = {
  building: 'is being built',
  failed: 'failed',
  catching_up: 'is catching up after a restart',
}

function troubleOf(table: OpenTable, shards: readonly IndexHealth[]): IndexTrouble[] {
  const [first] = shards
  if (first === undefined || first.activity.kind === 'none') return []
  const { name, kind, activity } = first
  const where = `on ${shards.length} of ${table.shards.length} shards`
  const what = `${kind} index "${name}" of table "${table.tableName}" ${STATE_TEXTS[first.activity.kind]}`
  const why = activity.reason === undefined ? '' : ` (${activity.reason})`
  const refusesSearches = shards.some(({ answers }) => !answers)
  const isEverywhere = shards.length === table.shards.length
  const effect = isEverywhere ? 'searches are refused' : 'searches miss their documents'
  const meanwhile = refusesSearches ? `; ${effect} meanwhile` : ''
  return [{ message: `${what} ${where}${why}${meanwhile}`, refusesSearches }]
}

/** The health of the table's indexes on the shards that this node leads. */
export function indexHealthOf(table: OpenTable, led: LedShards): readonly IndexHealth[] {
  return led.among(table.shards).flatMap((shard) => shard.indexHealth())
}
