// The request bodies that write documents. One walk over the bytes reads a body in steps. It builds
// no object of a document: it validates the bytes, compacts them where needed and passes them on.
//
// Each body has two readers: `readX` works in steps; `parseX` works at once, for bodies known to be
// small.

import { unreachable } from '../../lib/assert.ts'
import { SYNC_LEVELS } from './writes.ts'
import { BodyReader, type BodyLimits } from './body-reader.ts'
import { shownKey } from './document-limits.ts'
import { sortSliced } from './sliced-sort.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import type { Insert, ReadClaim, SyncLevel, TableWrites } from './writes.ts'
import type { TransformRequest } from './transform-request.ts'

const OPERATION_FIELDS = ['inserts', 'deletes', 'transforms', 'sync_level'] as const
const CROSS_TABLE_FIELDS = ['tables', 'sync_level'] as const
const COMMIT_FIELDS = ['tables', 'sync_level', 'read_set'] as const
const MERGE_FIELDS = ['records', 'last_merged_id', 'dry_run', 'sync_level'] as const
const DEFAULT_SYNC_LEVEL: SyncLevel = 'propose'
const SYNC_LEVEL_ALIASES: ReadonlyMap<string, SyncLevel> = new Map([['embeddings', 'aknn']])
const VERSION_MAX = 0xffff_ffff_ffff_ffffn
const COMPARISONS_PER_STEP = 5000
const VERSION_PROBLEM =
  'must be a string with the decimal digits of an unsigned 64-bit integer, as X-Service-Version gives it'

/** The body of a batch on one table. It holds at least one write. */
export interface SingleTableBody {
  readonly writes: TableWrites
  readonly syncLevel: SyncLevel
}

/**
 * The body of a batch on several tables. `writes` has one entry for each table, and at least one.
 */
export interface CrossTableBody {
  readonly writes: readonly TableWrites[]
  readonly syncLevel: SyncLevel
}

/**
 * The body of a transaction: what it read and what it writes. At least one of the two is not empty.
 */
export interface CommitBody extends CrossTableBody {
  readonly readSet: readonly ReadClaim[]
}

/**
 * The body of a linear merge: a page of records, to be compared with the stored documents in key
 * order.
 */
export interface MergeBody {
  /** Sorted by key bytes, without duplicates. */
  readonly records: readonly Insert[]
  /** The key that ended the page before; undefined on the first page. */
  readonly lastMergedId: Buffer | undefined
  readonly dryRun: boolean
  readonly syncLevel: SyncLevel
}

interface Operations {
  deletes: readonly Buffer[]
  inserts: readonly Insert[]
  transforms: readonly TransformRequest[]
  syncLevel: SyncLevel | undefined
}

/** Parses `{inserts, deletes, transforms, sync_level}`. `bytes` are valid UTF-8. */
export function parseTableWrites(
  table: string,
  bytes: Buffer,
  limits: BodyLimits = {},
): SingleTableBody {
  return runAtOnce(readTableWrites(table, bytes, limits))
}

/** Parses `{tables: {<table>: {inserts, ...}}, sync_level}`. `bytes` are valid UTF-8. */
export function parseCrossTable(bytes: Buffer, limits: BodyLimits = {}): CrossTableBody {
  return runAtOnce(readCrossTable(bytes, limits))
}

/**
 * Parses a body as `parseCrossTable` does, and its `read_set`. A read set alone is a validation.
 */
export function parseCommit(bytes: Buffer, limits: BodyLimits = {}): CommitBody {
  return runAtOnce(readCommit(bytes, limits))
}

/** Parses `{records, last_merged_id, dry_run, sync_level}`. `bytes` are valid UTF-8. */
export function parseMerge(bytes: Buffer, limits: BodyLimits = {}): MergeBody {
  return runAtOnce(readMerge(bytes, limits))
}

export function* readTableWrites(
  table: string,
  bytes: Buffer,
  limits: BodyLimits = {},
): Sliced<SingleTableBody> {
  const body = new BodyReader(bytes, limits)
  const operations = yield* readOperations(body, '')
  body.expectEnd()
  if (isEmpty(operations)) {
    body.refuse('', 'the batch is empty; give inserts, deletes or transforms')
  }
  return {
    writes: writesOf(table, operations),
    syncLevel: operations.syncLevel ?? DEFAULT_SYNC_LEVEL,
  }
}

export function* readCrossTable(bytes: Buffer, limits: BodyLimits = {}): Sliced<CrossTableBody> {
  const body = new BodyReader(bytes, limits)
  const { writes, syncLevel } = yield* readTablesAnd(body, CROSS_TABLE_FIELDS)
  if (writes.length === 0) {
    body.refuse('tables', 'the batch is empty; give inserts, deletes or transforms')
  }
  return { writes, syncLevel }
}

export function* readCommit(bytes: Buffer, limits: BodyLimits = {}): Sliced<CommitBody> {
  const body = new BodyReader(bytes, limits)
  const { writes, syncLevel, readSet } = yield* readTablesAnd(body, COMMIT_FIELDS)
  if (writes.length === 0 && readSet.length === 0) {
    body.refuse('read_set', 'the transaction is empty; give a read_set or writes in tables')
  }
  return { writes, syncLevel, readSet }
}

export function* readMerge(bytes: Buffer, limits: BodyLimits = {}): Sliced<MergeBody> {
  const body = new BodyReader(bytes, limits)
  const merge: { -readonly [Name in keyof MergeBody]: MergeBody[Name] } = {
    records: [],
    lastMergedId: undefined,
    dryRun: false,
    syncLevel: DEFAULT_SYNC_LEVEL,
  }
  const fields = body.fields('', MERGE_FIELDS)
  for (let name = fields.next(); name !== undefined; name = fields.next()) {
    switch (name) {
      case 'records':
        merge.records = yield* body.readDocuments(name)
        break
      case 'last_merged_id':
        merge.lastMergedId = body.readOptionalKey(name)
        break
      case 'dry_run':
        merge.dryRun = body.readBoolean(name)
        break
      case 'sync_level':
        merge.syncLevel = readSyncLevel(body, name)
        break
      default:
        unreachable(name)
    }
  }
  body.expectEnd()
  return { ...merge, records: yield* inKeyOrder(merge.records) }
}

/**
 * `known` names the fields that the body may have. Without `read_set` among them, the read set is
 * empty.
 */
function* readTablesAnd(
  body: BodyReader,
  known: readonly (typeof COMMIT_FIELDS)[number][],
): Sliced<CommitBody> {
  const tables = new Map<string, Operations>()
  let readSet: readonly ReadClaim[] = []
  let asked: SyncLevel | undefined
  const fields = body.fields('', known)
  for (let name = fields.next(); name !== undefined; name = fields.next()) {
    switch (name) {
      case 'tables':
        yield* readTables(body, tables)
        break
      case 'sync_level':
        asked = readSyncLevel(body, name)
        break
      case 'read_set':
        readSet = yield* readReadSet(body)
        break
      default:
        unreachable(name)
    }
  }
  body.expectEnd()
  const writes = [...tables]
    .filter(([, operations]) => !isEmpty(operations))
    .map(([table, operations]) => writesOf(table, operations))
  return { writes, readSet, syncLevel: asked ?? strongestOf([...tables.values()]) }
}

function* readTables(body: BodyReader, tables: Map<string, Operations>): Sliced<void> {
  body.enterEntries('tables')
  for (let table = body.nextEntry(); table !== undefined; table = body.nextEntry()) {
    const where = `tables[${shownKey(table)}]`
    if (table === '') body.refuse(where, 'a table name must not be empty')
    if (tables.has(table)) body.refuse(where, 'the table is given twice')
    tables.set(table, yield* readOperations(body, where))
    yield
  }
}

/** `where` is empty at the top of the body. */
function* readOperations(body: BodyReader, where: string): Sliced<Operations> {
  const operations: Operations = {
    deletes: [],
    inserts: [],
    transforms: [],
    syncLevel: undefined,
  }
  const fields = body.fields(where, OPERATION_FIELDS)
  for (let name = fields.next(); name !== undefined; name = fields.next()) {
    const place = fields.placeOf(name)
    switch (name) {
      case 'inserts':
        operations.inserts = yield* body.readDocuments(place)
        break
      case 'deletes':
        operations.deletes = yield* body.readKeys(place)
        break
      case 'transforms':
        operations.transforms = yield* body.readTransforms(place)
        break
      case 'sync_level':
        operations.syncLevel = readSyncLevel(body, place)
        break
      default:
        unreachable(name)
    }
  }
  return operations
}

function writesOf(table: string, { deletes, inserts, transforms }: Operations): TableWrites {
  return { table, deletes, inserts, transforms }
}

function isEmpty({ deletes, inserts, transforms }: Operations): boolean {
  return deletes.length + inserts.length + transforms.length === 0
}

function strongestOf(all: readonly Operations[]): SyncLevel {
  const ranks = all.map(({ syncLevel = DEFAULT_SYNC_LEVEL }) => SYNC_LEVELS.indexOf(syncLevel))
  return SYNC_LEVELS[Math.max(0, ...ranks)] ?? DEFAULT_SYNC_LEVEL
}

function readSyncLevel(body: BodyReader, where: string): SyncLevel {
  const value = body.readSmall(where)
  const level =
    SYNC_LEVELS.find((known) => known === value) ??
    (typeof value === 'string' ? SYNC_LEVEL_ALIASES.get(value) : undefined)
  return level ?? body.refuse(where, `must be one of ${SYNC_LEVELS.join(', ')}`)
}

function* readReadSet(body: BodyReader): Sliced<readonly ReadClaim[]> {
  return yield* body.readObjects('read_set', ['table', 'key', 'version'], (members, where) => {
    const { table, key, version } = members
    if (typeof table !== 'string' || table === '') {
      return body.refuse(`${where}.table`, 'must be the name of a table')
    }
    if (typeof version !== 'string' || !/^\d{1,20}$/.test(version)) {
      return body.refuse(`${where}.version`, VERSION_PROBLEM)
    }
    const parsed = BigInt(version)
    if (parsed > VERSION_MAX) return body.refuse(`${where}.version`, VERSION_PROBLEM)
    return { table, key: body.keyOf(key, `${where}.key`), version: parsed }
  })
}

function* inKeyOrder(records: readonly Insert[]): Sliced<readonly Insert[]> {
  let isSorted = true
  for (let index = 1; index < records.length && isSorted; index++) {
    const [before, record] = [records[index - 1], records[index]]
    isSorted = before === undefined || record === undefined || compareKeys(before, record) < 0
    if (index % COMPARISONS_PER_STEP === 0) yield
  }
  return isSorted ? records : yield* sortSliced(records, compareKeys)
}

function compareKeys(left: Insert, right: Insert): number {
  return Buffer.compare(left.key, right.key)
}
