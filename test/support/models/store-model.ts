// The smallest model of the store's promises: one map of documents for each table. It shares no code
// with the store. Numbers beyond 2^53 are JSON.rawJSON objects, as JSON.parse gives them below.

export type Value = null | boolean | number | string | RawNumber | readonly Value[] | Doc
export interface RawNumber {
  readonly rawJSON: string
}
export interface Doc {
  readonly [name: string]: Value
}

export interface Operation {
  readonly op: '$set' | '$inc' | '$push' | '$unset'
  readonly path: string
  readonly value?: Value
}

export interface Transform {
  readonly key: string
  readonly operations: readonly Operation[]
  readonly upsert: boolean
}

export interface Writes {
  readonly inserts: readonly (readonly [key: string, document: Doc])[]
  readonly deletes: readonly string[]
  readonly transforms: readonly Transform[]
}

/** A request that does not fit what is stored; it must change nothing. */
export class Refused extends Error {}

/** Typed tables take documents of the one type `item`, which must have a member `n`. */
export interface ModelTable {
  readonly shards: number
  typed: boolean
  documents: ReadonlyMap<string, Doc>
}

export const DEFAULT_TYPE = 'item'

export class StoreModel {
  readonly tables = new Map<string, ModelTable>()

  /** All of it or nothing. */
  apply(writes: readonly (readonly [table: ModelTable, writes: Writes])[]): void {
    const results = writes.map(([table, one]) => [table, written(table, one)] as const)
    for (const [table, documents] of results) table.documents = documents
  }
}

/** As it would be stored. */
export function checked({ typed }: ModelTable, document: Doc): Doc {
  if (!typed) return document
  const type = own(document, '_type') ?? DEFAULT_TYPE
  if (type !== DEFAULT_TYPE) throw new Refused('unknown type')
  if (own(document, 'n') === undefined) throw new Refused('n is missing')
  if (own(document, '_type') !== undefined) return document
  return Object.fromEntries([['_type', type], ...Object.entries(document)])
}

function written(table: ModelTable, writes: Writes): ReadonlyMap<string, Doc> {
  const documents = new Map(table.documents)
  for (const key of writes.deletes) documents.delete(key)
  for (const [key, document] of writes.inserts) documents.set(key, checked(table, document))
  const changedKeys = new Set<string>()
  for (const { key, operations, upsert } of writes.transforms) {
    const before = documents.get(key)
    if (before === undefined && !upsert) continue
    documents.set(key, operations.reduce(transformed, before ?? {}))
    changedKeys.add(key)
  }
  // What all transforms of a key make of it is checked, not what is in between. It is a document of
  // its own even where nothing changed: the store gives it a version.
  for (const key of changedKeys) documents.set(key, checked(table, { ...documents.get(key) }))
  return documents
}

function transformed(document: Doc, { op, path, value = null }: Operation): Doc {
  return changed(document, path.split('.'), (current) => OPERATORS[op](current, value))
}

const OPERATORS: Record<
  Operation['op'],
  (current: Value | undefined, value: Value) => Value | undefined
> = {
  $set: (_current, value) => value,
  $unset: () => undefined,
  $inc: (current, value) => (current === undefined ? value : sum(current, value)),
  $push: (current = [], value) => {
    if (!isList(current)) throw new Refused('not an array')
    return [...current, value]
  },
}

function changed(
  document: Doc,
  [name = '', ...rest]: readonly string[],
  change: (current: Value | undefined) => Value | undefined,
): Doc {
  const current = own(document, name)
  if (rest.length === 0) return withMember(document, name, change(current))
  if (current !== undefined && !isDoc(current)) throw new Refused('not an object')
  const inner = changed(current ?? {}, rest, change)
  const isNothing = current === undefined && Object.keys(inner).length === 0
  return isNothing ? document : withMember(document, name, inner)
}

function withMember(document: Doc, name: string, value: Value | undefined): Doc {
  const members = new Map(Object.entries(document))
  if (value === undefined) members.delete(name)
  else members.set(name, value)
  return Object.fromEntries(members)
}

/** All numbers of the model are integers. */
function sum(left: Value, right: Value): Value {
  if (!isNumber(left) || !isNumber(right)) throw new Refused('not a number')
  return numberOf(integerOf(left) + integerOf(right))
}

export function numberOf(integer: bigint): number | RawNumber {
  const double = Number(integer)
  return Number.isSafeInteger(double) ? double : JSON.rawJSON(String(integer))
}

export function integerOf(value: number | RawNumber): bigint {
  return BigInt(typeof value === 'number' ? value : value.rawJSON)
}

export function isNumber(value: Value | undefined): value is number | RawNumber {
  return typeof value === 'number' || JSON.isRawJSON(value)
}

export function isDoc(value: Value | undefined): value is Doc {
  return typeof value === 'object' && value !== null && !isList(value) && !isNumber(value)
}

function isList(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value)
}

export function own(document: Doc, name: string): Value | undefined {
  return Object.hasOwn(document, name) ? document[name] : undefined
}

/** Equal but for the order of members. */
export function sameContent(left: Doc, right: Doc): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right))
}

function sorted(value: Value): Value {
  if (isList(value)) return value.map(sorted)
  if (!isDoc(value)) return value
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const)
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function compareKeys(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Fields of at most two steps, over documents without arrays of objects. */
export function projected(document: Doc, fields: readonly string[]): Doc {
  const excluded = fields.filter((field) => field.startsWith('-')).map((field) => field.slice(1))
  const included = fields.filter((field) => !field.startsWith('-'))
  const members = Object.entries(document).flatMap(([name, value]) => {
    const kept = included.length === 0 ? value : including(name, value, included)
    const left = kept === undefined ? undefined : excluding(name, kept, excluded)
    return left === undefined ? [] : [[name, left] as const]
  })
  return Object.fromEntries(members)
}

function including(name: string, value: Value, fields: readonly string[]): Value | undefined {
  if (fields.includes(name)) return value
  if (!isDoc(value)) return undefined
  const inner = Object.entries(value).filter(([step]) => fields.includes(`${name}.${step}`))
  return inner.length === 0 ? undefined : Object.fromEntries(inner)
}

function excluding(name: string, value: Value, fields: readonly string[]): Value | undefined {
  if (fields.includes(name)) return undefined
  if (!isDoc(value)) return value
  const inner = Object.entries(value).filter(([step]) => !fields.includes(`${name}.${step}`))
  return Object.fromEntries(inner)
}

export type Filter =
  | { readonly term: string; readonly field: string }
  | { readonly prefix: string; readonly field: string }
  | { readonly min: Value; readonly max: Value; readonly field: string }
  | { readonly ids: readonly string[] }
  | { readonly must_not: Filter }

/** An array passes when one of its elements does, however deep they lie. */
export function passes(filter: Filter, key: string, document: Doc): boolean {
  if ('ids' in filter) return filter.ids.includes(key)
  if ('must_not' in filter) return !passes(filter.must_not, key, document)
  return elementsOf(own(document, filter.field)).some((value) => valuePasses(filter, value))
}

function elementsOf(value: Value | undefined): readonly Value[] {
  if (value === undefined) return []
  return isList(value) ? value.flatMap(elementsOf) : [value]
}

function composed(value: Value): string | undefined {
  return typeof value === 'string' ? value.normalize() : undefined
}

function valuePasses(
  filter: Exclude<Filter, { readonly ids: unknown } | { readonly must_not: unknown }>,
  value: Value,
): boolean {
  if ('term' in filter) return composed(value) === composed(filter.term)
  if ('prefix' in filter) return composed(value)?.startsWith(filter.prefix.normalize()) === true
  if (!isNumber(value) || !isNumber(filter.min) || !isNumber(filter.max)) return false
  const integer = integerOf(value)
  return integer >= integerOf(filter.min) && integer < integerOf(filter.max)
}
