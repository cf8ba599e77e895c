// What a table holds, as its indexes tell it.

import { answerWithin } from '../../../lib/deadline.ts'
import type { Clock } from '../../../lib/clock.ts'
import { FieldList, nameOf } from '../../schema/table-field.ts'
import { totalBehind } from '../../shard/following/documents-behind.ts'
import type { IndexStatus } from '../../shard/following/index-health.ts'
import type { TableFields } from '../../shard/following/table-fields.ts'
import { fieldsNow } from '../tables/fields-now.ts'
import type { OpenTable } from '../tables/open-table.ts'
import type { DynamicFieldsInfo, TableStatus } from '../tables/table-answers.ts'
import { textIndexesOf } from '../tables/table-indexes.ts'

/** The time that all tables of an answer have together. Later ones are shown without what their indexes tell. */
const PATIENCE_MS = 1000
/** The fields of a table that are named. All others are counted. */
const FIELDS_NAMED_MAX = 200

/** The contents of a table. */
export interface TableContents {
  /** The count of the index of words that has most; undefined without one, or if it cannot tell on a shard. */
  readonly approximateDocuments: number | undefined
  /** The bytes of the files of all indexes. */
  readonly indexBytes: number
  /** Documents that searches may lack: of each shard, those of the index that lacks most. */
  readonly documentsBehind: number
}

/** Asks for the contents of the tables of one answer. */
export class ContentsReader {
  readonly #clock: Clock
  readonly #endMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#endMs = clock.monotonicMs() + PATIENCE_MS
  }

  /** Undefined if a shard does not tell, or not in time. */
  async read(table: OpenTable): Promise<TableContents | undefined> {
    const ms = this.#endMs - this.#clock.monotonicMs()
    return ms <= 0 ? undefined : answerWithin(contentsOf(table), { clock: this.#clock, ms })
  }

  /** The status with the fields that no schema describes, if they are known in time. */
  async withFields(reading: Promise<TableStatus>, list: TableFields): Promise<TableStatus> {
    const status = await reading
    const ms = Math.max(0, this.#endMs - this.#clock.monotonicMs())
    const fields = await answerWithin(namedFields(list), { clock: this.#clock, ms })
    return fields === undefined ? status : { ...status, dynamic_fields: fields }
  }
}

async function contentsOf(table: OpenTable): Promise<TableContents> {
  const perIndex = await Promise.all(
    table.indexes.map(async (index) => ({
      index,
      shards: await Promise.all(table.shards.map((shard) => shard.indexStatus(index.name))),
    })),
  )
  const texts = textIndexesOf(table.indexes)
  const counts = perIndex
    .filter(({ index }) => texts.includes(index.name))
    .flatMap(({ shards }) => countOf(shards) ?? [])
  return {
    approximateDocuments: counts.length === 0 ? undefined : Math.max(...counts),
    indexBytes: sum(perIndex.flatMap(({ shards }) => shards.map(({ diskUsage }) => diskUsage))),
    documentsBehind: sum(
      table.shards.map((_shard, at) =>
        Math.max(0, ...perIndex.map(({ shards }) => behindOf(shards[at]))),
      ),
    ),
  }
}

function countOf(shards: readonly IndexStatus[]): number | undefined {
  if (shards.some(({ error }) => error !== undefined)) return undefined
  return sum(shards.map(({ totalIndexed }) => totalIndexed))
}

function behindOf(status: IndexStatus | undefined): number {
  return status === undefined ? 0 : totalBehind(status.behind)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The first fields of the list, with the kinds of their first values, and how many there are. */
async function namedFields(known: TableFields): Promise<DynamicFieldsInfo> {
  const list = new FieldList()
  for (const field of await fieldsNow(known, false)) list.add(field)
  const named = list.toJSON().slice(0, FIELDS_NAMED_MAX)
  const fields = named.map((field) => ({ name: nameOf(field), kind: field.kind }))
  return { count: list.size, is_full: !list.hasRoom, fields }
}
