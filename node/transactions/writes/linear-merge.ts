// Linear merge: makes a range of a table equal to a page of a key-sorted source (seed, section 4).
//
// The merge walks both sides once in key order and writes the differences as one transaction. The
// transaction checks the version of every document that it replaces or deletes. If one of them has
// changed since the comparison, the merge compares the page again.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { TIMESTAMP_ZERO, type Timestamp } from '../../clock/hybrid-clock.ts'
import { isSameContent } from '../../document/canonical-json.ts'
import { shownKey } from '../../document/document-limits.ts'
import type { Insert } from '../../document/writes.ts'
import { jsonOf, versionOf } from '../../shard/format/document-record.ts'
import { keyAfter, type KeyRange } from '../../shard/command/key-range.ts'
import type { ScanRow } from '../../shard/shard.ts'
import { keepsBody, MergedEmbeddings } from './merged-embeddings.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import type { MergeFailure, MergeRequest, MergeResult } from './linear-merge-request.ts'
import { PartCollector } from '../transaction-part.ts'
import type { EnrichedWriter } from './enriched-writer.ts'

export const MERGE_RECORDS_MAX = 10_000
export const MERGE_SCANNED_KEYS_MAX = 100_000
const MERGE_ATTEMPTS_MAX = 10
/** About a millisecond of comparing. */
const STEP_BYTES = 128 * 1024
/** The cost of a row beyond the bytes of its document. */
const ROW_COST_BYTES = 256

/**
 * What `mergePage` works with. `scan` yields the rows of a range in key order, in pages that all
 * show one timestamp.
 */
export interface LinearMergeOptions {
  readonly clock: Clock
  readonly writer: Pick<EnrichedWriter, 'run'>
  readonly scan: (table: OpenTable, range: KeyRange) => AsyncIterable<ScanRow[]>
}

/** The differences that the comparison of one page found. */
interface Difference {
  readonly upserts: { readonly insert: Insert; readonly over: Timestamp }[]
  readonly deletes: { readonly key: Buffer; readonly version: Timestamp }[]
  readonly failed: MergeFailure[]
  skipped: number
  scanned: number
  /** Set when the limit of scanned keys was reached: nothing beyond this key was looked at. */
  stoppedAt: Buffer | undefined
}

/**
 * Compares the page with its range of the table and writes the differences, unless it is a dry run.
 * Throws INVALID_ARGUMENT for a page that is too long or begins before `lastMergedId`, and CONFLICT
 * when other writers changed the range during every attempt.
 */
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
    if (await write(options, table, { request, difference })) {
      return { ...resultOf(request, difference, ''), took: took() }
    }
  }
  throw new ServiceError(
    'CONFLICT',
    'other clients kept changing documents of the range during the merge; try again later',
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
  { scan, clock }: LinearMergeOptions,
  table: OpenTable,
  request: MergeRequest,
): Promise<Difference> {
  const { records, options } = request
  const embeddings = new MergedEmbeddings(table, records, options.signal)
  const comparison = new Comparison(table, records, embeddings)
  const slices = { clock, signal: options.signal }
  for await (const page of scan(table, rangeOf(request))) {
    await embeddings.read(page)
    await runInTurn(comparison.take(page), slices)
    if (comparison.isFull) return comparison.difference
  }
  await runInTurn(comparison.finish(), slices)
  return comparison.difference
}

/** Walks the records beside the rows of the table, which come in pages. */
class Comparison {
  readonly difference: Difference = { ...EMPTY, upserts: [], deletes: [], failed: [] }
  readonly #table: OpenTable
  readonly #records: readonly Insert[]
  readonly #embeddings: MergedEmbeddings
  readonly #meter = new StepMeter(STEP_BYTES)
  #next = 0
  #isFull = false

  constructor(table: OpenTable, records: readonly Insert[], embeddings: MergedEmbeddings) {
    this.#table = table
    this.#records = records
    this.#embeddings = embeddings
  }

  /** Whether the comparison has reached the limit of scanned keys and ignores all further rows. */
  get isFull(): boolean {
    return this.#isFull
  }

  *take(page: readonly ScanRow[]): Sliced<void> {
    const { difference } = this
    for (const row of page) {
      if (difference.scanned === MERGE_SCANNED_KEYS_MAX) {
        this.#isFull = true
        return
      }
      difference.scanned++
      yield* this.#insertBefore(row.key)
      const record = this.#records[this.#next]
      if (record?.key.equals(row.key) === true) {
        yield* this.#upsert(record, row)
        this.#next++
      } else {
        difference.deletes.push({ key: row.key, version: versionOf(row.record) })
      }
      difference.stoppedAt = row.key
      if (this.#meter.spend(ROW_COST_BYTES)) yield
    }
  }

  /** Ends the merge: the table has no more rows in the range. */
  *finish(): Sliced<void> {
    this.difference.stoppedAt = undefined
    yield* this.#insertBefore(undefined)
  }

  /** Records whose keys the table lacks; undefined: all that are left. */
  *#insertBefore(key: Buffer | undefined): Sliced<void> {
    for (;;) {
      const record = this.#records[this.#next]
      if (record === undefined || (key !== undefined && record.key.compare(key) >= 0)) return
      yield* this.#upsert(record, undefined)
      this.#next++
    }
  }

  /** `row` is the document that the table holds under the record's key. */
  *#upsert(record: Insert, row: ScanRow | undefined): Sliced<void> {
    const { difference } = this
    const { json, embeddings } = record
    const bytes = ROW_COST_BYTES + json.length + (embeddings?.length ?? 0)
    if (this.#meter.spend(bytes)) yield
    try {
      // Both are checked, whatever the one says.
      const hasSameVectors = yield* this.#embeddings.isSame(record, row)
      const isSame = (yield* this.#isSameBody(record, row)) && hasSameVectors
      const over = row === undefined ? TIMESTAMP_ZERO : versionOf(row.record)
      if (isSame) difference.skipped++
      else difference.upserts.push({ insert: record, over })
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const id = record.key.toString()
      difference.failed.push({ id, operation: 'upsert', error: error.message })
    }
  }

  /** Compared as it would be stored: the table's rules may write a default type into it. */
  *#isSameBody(record: Insert, row: ScanRow | undefined): Sliced<boolean> {
    if (keepsBody(record, row)) return true
    const { json } = yield* this.#table.rules.checkSliced(record.key, record.json)
    return row !== undefined && (yield* isSameContent(jsonOf(row.record), json))
  }
}

/** False when a document changed after it was compared. */
async function write(
  { writer, clock }: LinearMergeOptions,
  table: OpenTable,
  { request, difference }: { request: MergeRequest; difference: Difference },
): Promise<boolean> {
  const { syncLevel, signal } = request.options
  const collector = new PartCollector()
  await runInTurn(collectDifference(collector, table, difference), { clock, signal })
  const outcome = await writer.run(collector.parts, { syncLevel, onContention: 'wait', signal })
  return outcome.kind === 'committed'
}

function* collectDifference(
  collector: PartCollector,
  table: OpenTable,
  { upserts, deletes }: Difference,
): Sliced<void> {
  const meter = new StepMeter(STEP_BYTES)
  for (const { insert, over } of upserts) {
    collector.addCheck(table, insert.key, over)
    if (meter.spend(ROW_COST_BYTES)) yield
  }
  for (const { key, version } of deletes) {
    collector.addCheck(table, key, version)
    if (meter.spend(ROW_COST_BYTES)) yield
  }
  yield* collector.addWrites(table, {
    table: table.record.name,
    deletes: deletes.map(({ key }) => key),
    inserts: upserts.map(({ insert }) => insert),
    transforms: [],
  })
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

/** The last key that this page has made equal to the source. The next page begins behind it. */
function lastKeyOf(request: MergeRequest, { stoppedAt, deletes }: Difference): Buffer | undefined {
  if (stoppedAt !== undefined) return stoppedAt
  return request.records.at(-1)?.key ?? deletes.at(-1)?.key ?? request.lastMergedId
}
