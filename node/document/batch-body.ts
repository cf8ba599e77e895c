// The request bodies that write documents, read in one walk over their bytes. No object is built of
// a document: its bytes are validated, compacted where needed, and passed on.

import { SYNC_LEVELS } from './writes.ts'
import { BodyReader } from './body-reader.ts'
import { parseTransforms } from './transform.ts'
import type { Insert, ReadClaim, SyncLevel, TableWrites } from './writes.ts'
import type { TransformRequest } from './transform.ts'

const DEFAULT_SYNC_LEVEL: SyncLevel = 'propose'
const SYNC_LEVEL_ALIASES: ReadonlyMap<string, SyncLevel> = new Map([['embeddings', 'aknn']])
const VERSION_MAX = 0xffff_ffff_ffff_ffffn
const VERSION_PROBLEM =
  'must be a string with the decimal digits of an unsigned 64-bit integer, as X-Service-Version gives it'

export interface SingleTableBody {
  readonly writes: TableWrites
  readonly syncLevel: SyncLevel
}

export interface CrossTableBody {
  readonly writes: readonly TableWrites[]
  readonly syncLevel: SyncLevel
}

export interface CommitBody extends CrossTableBody {
  readonly readSet: readonly ReadClaim[]
}

export interface MergeBody {
  /** Sorted by key bytes, without duplicates. */
  readonly records: readonly Insert[]
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

/** `{inserts, deletes, transforms, sync_level}`; `bytes` are valid UTF-8. */
export function parseTableWrites(table: string, bytes: Buffer): SingleTableBody {
  const body = new BodyReader(bytes)
  const operations = readOperations(body, '')
  body.expectEnd()
  if (isEmpty(operations)) {
    body.refuse('', 'the batch is empty; give inserts, deletes or transforms')
  }
  return {
    writes: writesOf(table, operations),
    syncLevel: operations.syncLevel ?? DEFAULT_SYNC_LEVEL,
  }
}

/** `{tables: {<table>: {inserts, ...}}, sync_level}`; `bytes` are valid UTF-8. */
export function parseCrossTable(bytes: Buffer): CrossTableBody {
  const body = new BodyReader(bytes)
  const { writes, syncLevel } = readCrossTable(body, new Map())
  if (writes.length === 0) {
    body.refuse('tables', 'the batch is empty; give inserts, deletes or transforms')
  }
  return { writes, syncLevel }
}

/** As `parseCrossTable`, with `read_set`; a read set alone is a validation. */
export function parseCommit(bytes: Buffer): CommitBody {
  const body = new BodyReader(bytes)
  let readSet: readonly ReadClaim[] = []
  const readers = new Map<string, () => unknown>([
    ['read_set', () => (readSet = readReadSet(body))],
  ])
  const { writes, syncLevel } = readCrossTable(body, readers)
  if (writes.length === 0 && readSet.length === 0) {
    body.refuse('read_set', 'the transaction is empty; give a read_set or writes in tables')
  }
  return { writes, syncLevel, readSet }
}

/** `{records, last_merged_id, dry_run, sync_level}`; `bytes` are valid UTF-8. */
export function parseMerge(bytes: Buffer): MergeBody {
  const body = new BodyReader(bytes)
  let records: readonly Insert[] = []
  let lastMergedId: Buffer | undefined
  let dryRun = false
  let syncLevel: SyncLevel = DEFAULT_SYNC_LEVEL
  body.readMembers(
    '',
    new Map<string, () => unknown>([
      ['records', () => (records = body.readDocuments('records'))],
      ['last_merged_id', () => (lastMergedId = body.readOptionalKey('last_merged_id'))],
      ['dry_run', () => (dryRun = body.readBoolean('dry_run'))],
      ['sync_level', () => (syncLevel = readSyncLevel(body, 'sync_level'))],
    ]),
  )
  body.expectEnd()
  return { records: inKeyOrder(records), lastMergedId, dryRun, syncLevel }
}

function readCrossTable(
  body: BodyReader,
  others: ReadonlyMap<string, () => unknown>,
): CrossTableBody {
  const tables = new Map<string, Operations>()
  let syncLevel: SyncLevel | undefined
  body.readMembers(
    '',
    new Map<string, () => unknown>([
      ['tables', () => readTables(body, tables)],
      ['sync_level', () => (syncLevel = readSyncLevel(body, 'sync_level'))],
      ...others,
    ]),
  )
  body.expectEnd()
  const writes = [...tables]
    .filter(([, operations]) => !isEmpty(operations))
    .map(([table, operations]) => writesOf(table, operations))
  return { writes, syncLevel: syncLevel ?? strongestOf([...tables.values()]) }
}

function readTables(body: BodyReader, tables: Map<string, Operations>): void {
  body.readEntries('tables', (table, where) => {
    if (table === '') body.refuse(where, 'a table name must not be empty')
    if (tables.has(table)) body.refuse(where, 'the table is given twice')
    tables.set(table, readOperations(body, where))
  })
}

/** `where` is empty at the top of the body. */
function readOperations(body: BodyReader, where: string): Operations {
  const operations: Operations = {
    deletes: [],
    inserts: [],
    transforms: [],
    syncLevel: undefined,
  }
  const place = (name: string) => (where === '' ? name : `${where}.${name}`)
  body.readMembers(
    where,
    new Map<string, () => unknown>([
      ['inserts', () => (operations.inserts = body.readDocuments(place('inserts')))],
      ['deletes', () => (operations.deletes = body.readKeys(place('deletes')))],
      [
        'transforms',
        () => (operations.transforms = parseTransforms(body.readJson(), place('transforms'))),
      ],
      ['sync_level', () => (operations.syncLevel = readSyncLevel(body, place('sync_level')))],
    ]),
  )
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
  const value = body.readJson()
  const level =
    SYNC_LEVELS.find((known) => known === value) ??
    (typeof value === 'string' ? SYNC_LEVEL_ALIASES.get(value) : undefined)
  return level ?? body.refuse(where, `must be one of ${SYNC_LEVELS.join(', ')}`)
}

function readReadSet(body: BodyReader): readonly ReadClaim[] {
  return body.readObjects('read_set', ['table', 'key', 'version'], (members, where) => {
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

function inKeyOrder(records: readonly Insert[]): readonly Insert[] {
  const isSorted = records.every((record, index) => {
    const before = records[index - 1]
    return before === undefined || Buffer.compare(before.key, record.key) < 0
  })
  return isSorted ? records : records.toSorted((left, right) => Buffer.compare(left.key, right.key))
}
