// Linear merge: makes a range of a table equal to a page of a key-sorted source (seed, section 4).
//
// Both sides are walked once in key order. What differs is written as one transaction that checks the
// version of every document it replaces or deletes; if one changed meanwhile, the page is compared anew.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { TIMESTAMP_ZERO, type Timestamp } from '../clock/hybrid-clock.ts'
import { sameContent } from '../document/canonical-json.ts'
import { shownKey } from '../document/document-limits.ts'
import type { Insert } from '../document/writes.ts'
import { jsonOf, versionOf } from '../shard/format/document-record.ts'
import { keyAfter, type KeyRange } from '../shard/key-range.ts'
import type { ScanRow } from '../shard/shard.ts'
import type { OpenTable } from './tables/open-table.ts'
import type { MergeFailure, MergeRequest, MergeResult } from './store-service.ts'
import { PartCollector } from './transactions/transaction-part.ts'
import type { TransactionRunner } from './transactions/transaction-runner.ts'

export const MERGE_RECORDS_MAX = 10_000
export const MERGE_SCANNED_KEYS_MAX = 100_000
const MERGE_ATTEMPTS_MAX = 10

export interface LinearMergeOptions {
  readonly clock: Clock
  readonly runner: TransactionRunner
  readonly scan: (table: OpenTable, range: KeyRange) => AsyncIterable<readonly ScanRow[]>
}

/** What the comparison of one page found. */
interface Difference {
  readonly upserts: { readonly insert: Insert; readonly over: Timestamp }[]
  readonly deletes: { readonly key: Buffer; readonly version: Timestamp }[]
  readonly failed: MergeFailure[]
  skipped: number
  scanned: number
  /** Set when the limit of scanned keys was reached: nothing beyond this key was looked at. */
  stoppedAt: Buffer | undefined
}

export async function mergePage(
  options: LinearMergeOptions,
  table: OpenTable,
  request: MergeRequest,
): Promise<MergeResult> {
  const startedMs = options.clock.monotonicMs()
  assertPage(request)
  const took = (): number => Math.round(options.clock.monotonicMs() - startedMs)
  if (request.records.length === 0 && request.lastMergedId === undefined) {
    return {
      ...resultOf(request, EMPTY, 'nothing to do: no records and no last_merged_id'),
      took: 0,
    }
  }
  for (let attempt = 0; attempt < MERGE_ATTEMPTS_MAX; attempt++) {
    const difference = await compare(options, table, request)
    if (request.dryRun) {
      return { ...resultOf(request, difference, 'dry run: nothing was changed'), took: took() }
    }
    if (await write(options.runner, table, { request, difference })) {
      return { ...resultOf(request, difference, ''), took: took() }
    }
  }
  throw new ServiceError(
    'CONFLICT',
    'documents of the range kept changing during the merge; try again when other writers rest',
  )
}

const EMPTY: Difference = {
  upserts: [],
  deletes: [],
  failed: [],
  skipped: 0,
  scanned: 0,
  stoppedAt: undefined,
}

function assertPage({ records, lastMergedId }: MergeRequest): void {
  if (records.length > MERGE_RECORDS_MAX) {
    const problem = `records: a page holds at most ${MERGE_RECORDS_MAX} records`
    throw new ServiceError('INVALID_ARGUMENT', `${problem}, not ${records.length}; divide it`)
  }
  const first = records[0]
  if (first === undefined || lastMergedId === undefined || first.key.compare(lastMergedId) > 0) {
    return
  }
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `last_merged_id ${shownKey(lastMergedId.toString())} must be before every key of records; ` +
      `${shownKey(first.key.toString())} is not behind it`,
  )
}

/** Behind the last page's end, up to the greatest key of this one; an empty page reaches to the end. */
function rangeOf({ records, lastMergedId }: MergeRequest): KeyRange {
  const greatest = records.at(-1)?.key
  return {
    start: lastMergedId === undefined ? Buffer.alloc(0) : keyAfter(lastMergedId),
    end: greatest === undefined ? undefined : keyAfter(greatest),
  }
}

async function compare(
  { scan }: LinearMergeOptions,
  table: OpenTable,
  request: MergeRequest,
): Promise<Difference> {
  const difference: Difference = { ...EMPTY, upserts: [], deletes: [], failed: [] }
  const { records } = request
  let next = 0
  const insertBefore = (key: Buffer | undefined): void => {
    for (;;) {
      const record = records[next]
      if (record === undefined || (key !== undefined && record.key.compare(key) >= 0)) return
      upsert(table, difference, { record, row: undefined })
      next++
    }
  }
  for await (const page of scan(table, rangeOf(request))) {
    for (const row of page) {
      if (difference.scanned === MERGE_SCANNED_KEYS_MAX) return difference
      difference.scanned++
      insertBefore(row.key)
      const record = records[next]
      if (record?.key.equals(row.key) === true) {
        upsert(table, difference, { record, row })
        next++
      } else {
        difference.deletes.push({ key: row.key, version: versionOf(row.record) })
      }
      if (difference.scanned === MERGE_SCANNED_KEYS_MAX) difference.stoppedAt = row.key
    }
  }
  difference.stoppedAt = undefined
  insertBefore(undefined)
  return difference
}

/** `row` is the document that the table holds under the record's key. */
function upsert(
  table: OpenTable,
  difference: Difference,
  { record, row }: { record: Insert; row: ScanRow | undefined },
): void {
  try {
    // Compared as it would be stored: the table's rules may write a default type into it.
    const { json } = table.rules.check(record.key, record.json)
    if (row !== undefined && sameContent(jsonOf(row.record), json)) difference.skipped++
    else {
      const over = row === undefined ? TIMESTAMP_ZERO : versionOf(row.record)
      difference.upserts.push({ insert: record, over })
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const id = record.key.toString()
    difference.failed.push({ id, operation: 'upsert', error: error.message })
  }
}

/** False when a document changed after it was compared. */
async function write(
  runner: TransactionRunner,
  table: OpenTable,
  { request, difference }: { request: MergeRequest; difference: Difference },
): Promise<boolean> {
  const collector = new PartCollector()
  for (const { insert, over } of difference.upserts) collector.addCheck(table, insert.key, over)
  for (const { key, version } of difference.deletes) collector.addCheck(table, key, version)
  collector.addWrites(table, {
    table: table.record.name,
    deletes: difference.deletes.map(({ key }) => key),
    inserts: difference.upserts.map(({ insert }) => insert),
    transforms: [],
  })
  const { syncLevel, signal } = request.options
  const outcome = await runner.run(collector.parts, {
    onContention: 'wait',
    awaitResolution: syncLevel !== 'propose',
    ...(signal === undefined ? {} : { signal }),
  })
  return outcome.kind === 'committed'
}

function resultOf(
  request: MergeRequest,
  difference: Difference,
  message: string,
): Omit<MergeResult, 'took'> {
  const { upserts, deletes, failed, skipped, scanned, stoppedAt } = difference
  const from = request.lastMergedId?.toString() ?? ''
  const to = lastKeyOf(request, difference)?.toString() ?? ''
  const stopped = `stopped after ${MERGE_SCANNED_KEYS_MAX} keys; send the rest from next_cursor on`
  return {
    status: stoppedAt === undefined ? 'success' : 'partial',
    upserted: upserts.length,
    skipped,
    deleted: deletes.length,
    ...(request.dryRun ? { deleted_ids: deletes.map(({ key }) => key.toString()) } : {}),
    failed,
    next_cursor: to,
    key_range: { from, to },
    keys_scanned: scanned,
    message: stoppedAt === undefined ? message : [message, stopped].filter(Boolean).join('; '),
  }
}

/** The last key that this page settled: where the next page goes on. */
function lastKeyOf(request: MergeRequest, { stoppedAt, deletes }: Difference): Buffer | undefined {
  if (stoppedAt !== undefined) return stoppedAt
  return request.records.at(-1)?.key ?? deletes.at(-1)?.key ?? request.lastMergedId
}
