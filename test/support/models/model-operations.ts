// One operation each over HTTP, and the comparison of the whole answer with what the model says.

import { expect } from 'chai'
import { checked, compareKeys, passes, projected, Refused, sameContent } from './store-model.ts'
import type { Doc, Filter, ModelTable, StoreModel, Writes } from './store-model.ts'
import type { Answer } from '../servers/store-client.ts'

/** The running store; `restart` kills it and starts it again over the same data. */
export interface Subject {
  send(method: string, path: string, body?: unknown): Promise<Answer>
  restart(): Promise<void>
  /** The store's wall clock leaps. */
  leap(): void
  /** The last version seen of each key, and whether it was written since. */
  readonly versions: Map<string, { readonly version: bigint; readonly document: Doc | undefined }>
}

/** Every document of every table, and that there are no others. */
export async function compareAll(model: StoreModel, subject: Subject): Promise<void> {
  await list(model, subject)
  for (const [name, { documents }] of model.tables) {
    const { status, text } = await subject.send('POST', `${pathOf(name)}/lookup`)
    expect(status, text).to.equal(200)
    const keys = [...documents.keys()].toSorted(compareKeys)
    expect(keysOf(text), `keys of ${name}`).to.deep.equal(keys)
    for (const key of keys) await lookup({ table: name, key, fields: undefined }, model, subject)
  }
}

export async function create(
  { table, shards, typed }: { table: string; shards: Shards; typed: boolean },
  model: StoreModel,
  subject: Subject,
): Promise<void> {
  const body = { ...shards, schema: schemaOf(typed) }
  const answer = await subject.send('POST', pathOf(table), body)
  if (model.tables.has(table)) return expectCode(answer, 409, 'ALREADY_EXISTS')
  const count = shards.num_shards ?? (shards.split_keys?.length ?? 0) + 1
  expect(answer.status, answer.text).to.equal(201)
  const created: TableAnswer = JSON.parse(answer.text)
  expect(Object.keys(created.shards)).to.have.length(count)
  model.tables.set(table, { shards: count, typed, documents: new Map() })
  for (const key of subject.versions.keys()) {
    if (key.startsWith(`${table}/`)) subject.versions.delete(key)
  }
}

export async function drop(table: string, model: StoreModel, subject: Subject): Promise<void> {
  const answer = await subject.send('DELETE', pathOf(table))
  if (!model.tables.delete(table)) return expectCode(answer, 404, 'NOT_FOUND')
  expect(answer.status, answer.text).to.equal(204)
}

export async function list(model: StoreModel, subject: Subject): Promise<void> {
  const { status, text } = await subject.send('GET', '/api/v1/tables')
  expect(status, text).to.equal(200)
  const tables: readonly TableAnswer[] = JSON.parse(text)
  const expected = [...model.tables].map(([name, { shards }]) => ({ name, shards }))
  expect(tables.map(({ name, shards }) => ({ name, shards: Object.keys(shards).length })))
    .to.deep //
    .equal(expected.toSorted((a, b) => compareKeys(a.name, b.name)))
}

export async function schema(
  { table, typed }: { table: string; typed: boolean },
  model: StoreModel,
  subject: Subject,
): Promise<void> {
  const answer = await subject.send('PUT', `${pathOf(table)}/schema`, schemaOf(typed))
  const known = model.tables.get(table)
  if (known === undefined) return expectCode(answer, 404, 'NOT_FOUND')
  expect(answer.status, answer.text).to.equal(200)
  known.typed = typed
}

export async function batch(
  { table, writes }: { table: string; writes: Writes },
  model: StoreModel,
  subject: Subject,
): Promise<void> {
  const answer = await subject.send('POST', `${pathOf(table)}/batch`, bodyOf(writes))
  if (isEmpty(writes)) return expectCode(answer, 400, 'INVALID_ARGUMENT')
  if (!applied(model, [[table, writes]], answer)) return
  expect(answer.status, answer.text).to.equal(201)
  expect(JSON.parse(answer.text)).to.deep.equal(countsOf(writes))
}

export async function cross(
  tables: readonly (readonly [string, Writes])[],
  model: StoreModel,
  subject: Subject,
): Promise<void> {
  const answer = await subject.send('POST', '/api/v1/batch', { tables: tablesOf(tables) })
  const writes = tables.filter(([, one]) => !isEmpty(one))
  if (writes.length === 0) return expectCode(answer, 400, 'INVALID_ARGUMENT')
  if (!applied(model, writes, answer)) return
  expect(answer.status, answer.text).to.equal(201)
  expect(JSON.parse(answer.text)).to.deep.equal({ tables: countsByTable(writes) })
}

export type ClaimKind = 'right' | 'wrong' | 'absent'

export async function commit(
  {
    claims,
    tables,
  }: {
    claims: readonly (readonly [string, string, ClaimKind])[]
    tables: readonly (readonly [string, Writes])[]
  },
  model: StoreModel,
  subject: Subject,
): Promise<void> {
  const readSet: { table: string; key: string; version: string }[] = []
  const broken: string[] = []
  for (const [table, key, kind] of claims) {
    const version = await lookup({ table, key, fields: undefined }, model, subject)
    const claimed = kind === 'right' ? version : kind === 'absent' ? 0n : version + 1n
    readSet.push({ table, key, version: String(claimed) })
    if (claimed !== version) broken.push(`${table}/${key}`)
  }
  const body = { read_set: readSet, tables: tablesOf(tables) }
  const answer = await subject.send('POST', '/api/v1/transactions/commit', body)
  const writes = tables.filter(([, one]) => !isEmpty(one))
  if (writes.length + claims.length === 0) return expectCode(answer, 400, 'INVALID_ARGUMENT')
  const named = [...claims.map(([table]) => table), ...writes.map(([table]) => table)]
  if (named.some((table) => !model.tables.has(table))) return expectCode(answer, 404, 'NOT_FOUND')
  if (broken.length > 0 && answer.status === 409) {
    const { status, conflict, code }: ConflictAnswer = JSON.parse(answer.text)
    expect({ status, code }).to.deep.equal({ status: 'aborted', code: 'CONFLICT' })
    return void expect(`${conflict.table}/${conflict.key}`).to.be.oneOf(broken)
  }
  if (!applied(model, writes, answer)) return
  expect(broken, 'wrong claims that were accepted').to.deep.equal([])
  expect(answer.status, answer.text).to.equal(200)
  expect(JSON.parse(answer.text))
    .to.deep //
    .equal({ status: 'committed', tables: countsByTable(writes) })
}

interface MergeInput {
  readonly table: string
  readonly records: readonly (readonly [string, Doc])[]
  readonly after: string | undefined
  readonly dryRun: boolean
}

export async function merge(input: MergeInput, model: StoreModel, subject: Subject): Promise<void> {
  const { table: name, after, dryRun } = input
  const body = {
    records: Object.fromEntries(input.records),
    ...(after === undefined ? {} : { last_merged_id: after }),
    dry_run: dryRun,
  }
  const answer = await subject.send('POST', `${pathOf(name)}/merge`, body)
  const table = model.tables.get(name)
  if (table === undefined) return expectCode(answer, 404, 'NOT_FOUND')
  const records = input.records.toSorted(([a], [b]) => compareKeys(a, b))
  const [first, last] = [records[0]?.[0], records.at(-1)?.[0]]
  if (first !== undefined && after !== undefined && compareKeys(after, first) >= 0) {
    return expectCode(answer, 400, 'INVALID_ARGUMENT')
  }
  const { inRange, deletes, failed, upserts } = differenceOf(table, records, after)
  expect(answer.status, answer.text).to.equal(200)
  const result: MergeAnswer = JSON.parse(answer.text)
  expect(result).to.deep.include({
    status: 'success',
    upserted: upserts.length,
    skipped: records.length - failed.length - upserts.length,
    deleted: deletes.length,
    keys_scanned: inRange.length,
  })
  expect(result.failed.map(({ id }) => id)).to.deep.equal(failed)
  expect(result.deleted_ids).to.deep.equal(dryRun ? deletes : undefined)
  if (last !== undefined) expect(result.next_cursor).to.equal(last)
  if (!dryRun) model.apply([[table, { inserts: upserts, deletes, transforms: [] }]])
}

/** What a merge of the sorted page has to do. */
function differenceOf(
  table: ModelTable,
  records: readonly (readonly [string, Doc])[],
  after: string | undefined,
): {
  readonly inRange: readonly string[]
  readonly deletes: readonly string[]
  readonly failed: readonly string[]
  readonly upserts: readonly (readonly [string, Doc])[]
} {
  const last = records.at(-1)?.[0]
  const isNothing = last === undefined && after === undefined
  const inRange = isNothing ? [] : keysBetween(table, after, last)
  const sent = new Set(records.map(([key]) => key))
  const isFit = ([, document]: readonly [string, Doc]): boolean =>
    !isRefused(() => checked(table, document))
  const upserts = records.filter(isFit).filter(([key, document]) => {
    const stored = table.documents.get(key)
    return stored === undefined || !sameContent(stored, checked(table, document))
  })
  return {
    inRange,
    deletes: inRange.filter((key) => !sent.has(key)),
    failed: records.filter((record) => !isFit(record)).map(([key]) => key),
    upserts,
  }
}

interface ScanInput {
  readonly table: string
  readonly from: string | undefined
  readonly to: string | undefined
  readonly inclusive_from: boolean
  readonly exclusive_to: boolean
  readonly limit: number | undefined
  readonly fields: readonly string[] | undefined
  readonly filter_query: Filter | undefined
}

export async function scan(input: ScanInput, model: StoreModel, subject: Subject): Promise<void> {
  const { table: name, ...body } = input
  const { from, to, inclusive_from: withFrom, exclusive_to: withoutTo, fields, limit } = body
  const answer = await subject.send('POST', `${pathOf(name)}/lookup`, body)
  const table = model.tables.get(name)
  if (table === undefined) return expectCode(answer, 404, 'NOT_FOUND')
  if (from !== undefined && to !== undefined && compareKeys(from, to) > 0) {
    return expectCode(answer, 400, 'INVALID_ARGUMENT')
  }
  const isIn = (key: string): boolean => {
    const low = from === undefined ? 1 : compareKeys(key, from)
    const high = to === undefined ? -1 : compareKeys(key, to)
    return (withFrom ? low >= 0 : low > 0) && (withoutTo ? high < 0 : high <= 0)
  }
  const lines = [...table.documents]
    .filter(([key]) => isIn(key))
    .filter(
      ([key, document]) =>
        body.filter_query === undefined || passes(body.filter_query, key, document),
    )
    .toSorted(([a], [b]) => compareKeys(a, b))
    .slice(0, limit ?? Infinity)
    .map(([key, document]) => lineOf(key, fields === undefined ? {} : projected(document, fields)))
  expect(answer.status, answer.text).to.equal(200)
  expect(answer.text).to.equal(lines.join(''))
}

/** Answers the version, which changes exactly when the document was written. */
export async function lookup(
  {
    table: name,
    key,
    fields,
  }: { table: string; key: string; fields: readonly string[] | undefined },
  model: StoreModel,
  subject: Subject,
): Promise<bigint> {
  const query = fields === undefined ? '' : `?fields=${encodeURIComponent(fields.join(','))}`
  const path = `${pathOf(name)}/lookup/${encodeURIComponent(key)}${query}`
  const answer = await subject.send('GET', path)
  const document = model.tables.get(name)?.documents.get(key)
  if (document === undefined) {
    expectCode(answer, 404, 'NOT_FOUND')
    if (model.tables.has(name)) expect(answer.headers['x-service-version']).to.equal('0')
    return 0n
  }
  expect(answer.status, answer.text).to.equal(200)
  const expected = fields === undefined ? document : projected(document, fields)
  expect(answer.text).to.equal(JSON.stringify(expected))
  const version = BigInt(String(answer.headers['x-service-version']))
  const seen = subject.versions.get(`${name}/${key}`)
  if (seen !== undefined && seen.document === document) expect(version).to.equal(seen.version)
  else expect(version > (seen?.version ?? 0n), `version of ${name}/${key}`).to.equal(true)
  subject.versions.set(`${name}/${key}`, { version, document })
  return version
}

/** False when the store had to refuse, and did. */
function applied(
  model: StoreModel,
  writes: readonly (readonly [string, Writes])[],
  answer: Answer,
): boolean {
  const tables = writes.map(([table]) => model.tables.get(table))
  if (tables.includes(undefined)) {
    expectCode(answer, 404, 'NOT_FOUND')
    return false
  }
  const targets = writes.flatMap(([name, one]) => {
    const table = model.tables.get(name)
    return table === undefined ? [] : [[table, one] as const]
  })
  if (!isRefused(() => model.apply(targets))) return true
  expectCode(answer, 400, 'INVALID_ARGUMENT')
  return false
}

function isRefused(run: () => unknown): boolean {
  try {
    run()
    return false
  } catch (error) {
    if (error instanceof Refused) return true
    throw error
  }
}

function expectCode({ status, text }: Answer, expected: number, code: string): void {
  const body: { readonly code: string } = JSON.parse(text)
  expect({ status, code: body.code }, text).to.deep.equal({ status: expected, code })
}

function keysBetween(
  { documents }: ModelTable,
  after: string | undefined,
  last: string | undefined,
): readonly string[] {
  return [...documents.keys()]
    .filter((key) => after === undefined || compareKeys(key, after) > 0)
    .filter((key) => last === undefined || compareKeys(key, last) <= 0)
    .toSorted(compareKeys)
}

function lineOf(key: string, document: Doc): string {
  return `${JSON.stringify(Object.fromEntries([['key', key], ...Object.entries(document)]))}\n`
}

function keysOf(text: string): readonly string[] {
  const lines = text.split('\n').slice(0, -1)
  const parsed = lines.map((line): { readonly key: string } => JSON.parse(line))
  return parsed.map(({ key }) => key)
}

function bodyOf({ inserts, deletes, transforms }: Writes): unknown {
  return { inserts: Object.fromEntries(inserts), deletes, transforms }
}

function tablesOf(tables: readonly (readonly [string, Writes])[]): unknown {
  return Object.fromEntries(tables.map(([table, writes]) => [table, bodyOf(writes)]))
}

function isEmpty({ inserts, deletes, transforms }: Writes): boolean {
  return inserts.length + deletes.length + transforms.length === 0
}

function countsOf({ inserts, deletes, transforms }: Writes): unknown {
  return {
    inserted: inserts.length,
    deleted: deletes.length,
    transformed: transforms.length,
  }
}

function countsByTable(tables: readonly (readonly [string, Writes])[]): unknown {
  return Object.fromEntries(tables.map(([table, writes]) => [table, countsOf(writes)]))
}

function pathOf(table: string): string {
  return `/api/v1/tables/${table}`
}

/** What filters ask has a type from the start: without, the first value that comes decides what may be asked. */
const TYPES = {
  dynamic_templates: [
    { match: 'n', mapping: { type: 'numeric' } },
    { match: 's', mapping: { type: 'keyword' } },
  ],
}

function schemaOf(typed: boolean): unknown {
  if (!typed) return TYPES
  const schemas = { item: { schema: { type: 'object', required: ['n'] } } }
  return { ...TYPES, default_type: 'item', enforce_types: true, document_schemas: schemas }
}

interface Shards {
  readonly num_shards?: number
  readonly split_keys?: readonly string[]
}

interface TableAnswer {
  readonly name: string
  readonly shards: Readonly<Record<string, unknown>>
}

interface ConflictAnswer {
  readonly status: string
  readonly code: string
  readonly conflict: { readonly table: string; readonly key: string }
}

interface MergeAnswer {
  readonly failed: readonly { readonly id: string }[]
  readonly deleted_ids?: readonly string[]
  readonly next_cursor: string
}
