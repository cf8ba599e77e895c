// Parses the answers of the service that commands show. It reads only shown members, and a missing
// member reads as a neutral value, because an older or newer service must not break a listing.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'

/** A table as the service describes it. */
export interface TableAnswer {
  readonly name: string
  readonly description: string
  readonly shards: readonly ShardAnswer[]
  readonly schemaVersion: number | undefined
  readonly replicationFactor: number
  readonly minInSync: number
  readonly diskUsage: number
  readonly empty: boolean
  /** Undefined where no index can tell, here and below. */
  readonly approximateDocuments: number | undefined
  readonly documentsBehind: number
  readonly indexDiskUsage: number | undefined
  /** The names and types of the indexes. */
  readonly indexes: readonly { readonly name: string; readonly type: string }[]
  /** The language of its texts; empty: none in particular. */
  readonly language: string
  readonly fields: TableFieldsAnswer
}

/** The fields of a table: those that its schema describes, then the first of the others. */
export interface TableFieldsAnswer {
  readonly named: readonly { readonly name: string; readonly kind: string }[]
  /** Those that the answer does not name. */
  readonly more: number
}

/** A shard of a table, with its key range. */
export interface ShardAnswer {
  readonly id: string
  /** The first key, inclusive; undefined: the range has no lower bound. */
  readonly from: Buffer | undefined
  /** The end, exclusive; undefined: the range has no upper bound. */
  readonly to: Buffer | undefined
}

/** The status of the service. */
export interface StatusAnswer {
  readonly health: string
  readonly message: string
  readonly version: string
  readonly swarmMode: boolean
  /** The cluster's name; empty in swarm mode. */
  readonly clusterName: string
  readonly tables: number
  readonly shards: readonly ShardHealthAnswer[]
}

/** The health of one shard. */
export interface ShardHealthAnswer {
  readonly id: string
  readonly table: string
  readonly state: string
  readonly message: string
  readonly pendingIntents: number
}

const KEY_SPACE_END = 0xff

export function parseTables(text: string): TableAnswer[] {
  const value = parseAnswer(text)
  return Array.isArray(value) ? value.map(readTable) : []
}

export function parseTable(text: string): TableAnswer {
  return readTable(parseAnswer(text))
}

export function parseStatus(text: string): StatusAnswer {
  const value = parseAnswer(text)
  return {
    health: textOf(value, 'health'),
    message: textOf(value, 'message'),
    version: textOf(value, 'version'),
    swarmMode: memberOf(value, 'swarm_mode') === true,
    clusterName: textOf(memberOf(value, 'cluster'), 'name'),
    tables: numberOf(value, 'tables'),
    shards: entriesOf(memberOf(value, 'shards')).map(([id, shard]) => ({
      id,
      table: textOf(shard, 'table'),
      state: textOf(shard, 'state'),
      message: textOf(shard, 'message'),
      pendingIntents: numberOf(shard, 'pending_intents'),
    })),
  }
}

/** The elements of an array, each as JSON. Large integers keep all their digits. */
export function elementsOf(text: string): string[] {
  const value = parseJson(text, (_name, member, context) =>
    typeof member === 'number' ? JSON.rawJSON(context?.source ?? String(member)) : member,
  )
  return Array.isArray(value) ? value.map((element) => JSON.stringify(element)) : []
}

/** The value of a JSON answer. Any other answer does not come from Quarry and throws a CliError. */
export function parseAnswer(text: string): unknown {
  return parseJson(text)
}

/** The same, but integers that a double cannot hold become the text of their digits. */
export function parseExactAnswer(text: string): unknown {
  return parseJson(text, (_name, value, context) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? context?.source : value,
  )
}

type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown

function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch (cause) {
    const message = 'the answer is not JSON: check that --url names a Quarry service'
    throw new CliError(EXIT.refused, 'INVALID_ANSWER', message, { cause })
  }
}

function readTable(value: unknown): TableAnswer {
  const schema = memberOf(value, 'schema')
  const storage = memberOf(value, 'storage_status')
  const shards = entriesOf(memberOf(value, 'shards')).map(([id, shard]) => readShard(id, shard))
  return {
    name: textOf(value, 'name'),
    description: textOf(value, 'description'),
    shards: shards.toSorted((a, b) => Buffer.compare(a.from ?? EMPTY, b.from ?? EMPTY)),
    schemaVersion: schema === undefined ? undefined : numberOf(schema, 'version'),
    replicationFactor: numberOf(value, 'replication_factor'),
    minInSync: numberOf(value, 'min_in_sync'),
    diskUsage: numberOf(storage, 'disk_usage'),
    empty: memberOf(storage, 'empty') === true,
    approximateDocuments: optionalNumberOf(value, 'approximate_documents'),
    documentsBehind: numberOf(value, 'documents_behind'),
    indexDiskUsage: optionalNumberOf(storage, 'index_disk_usage'),
    indexes: entriesOf(memberOf(value, 'indexes')).map(([name, index]) => ({
      name,
      type: textOf(index, 'type'),
    })),
    language: textOf(schema, 'language'),
    fields: readFields(value),
  }
}

function readFields(value: unknown): TableFieldsAnswer {
  const list = memberOf(value, 'dynamic_fields')
  const fields = memberOf(list, 'fields')
  const found = Array.isArray(fields) ? fields : []
  const dynamic = found.map((field) => ({
    name: textOf(field, 'name'),
    kind: textOf(field, 'kind'),
  }))
  const types = entriesOf(memberOf(memberOf(value, 'schema'), 'document_schemas'))
  const declared = types.flatMap(([, type]) =>
    entriesOf(memberOf(memberOf(type, 'schema'), 'properties')).map(([name, property]) => ({
      name,
      kind: textOf(property, 'type'),
    })),
  )
  const more = Math.max(0, numberOf(list, 'count') - dynamic.length)
  return { named: [...declared, ...dynamic], more }
}

function optionalNumberOf(value: unknown, name: string): number | undefined {
  return memberOf(value, name) === undefined ? undefined : numberOf(value, name)
}

const EMPTY = Buffer.alloc(0)

function readShard(id: string, value: unknown): ShardAnswer {
  const range = memberOf(value, 'byte_range')
  const [from, to] = Array.isArray(range) ? range.map(boundary) : []
  return { id, from, to }
}

/** Decodes the base64 of a key; undefined for the two ends of the key space. */
function boundary(value: unknown): Buffer | undefined {
  const bytes = Buffer.from(typeof value === 'string' ? value : '', 'base64')
  const isEnd = bytes.length === 0 || (bytes.length === 1 && bytes[0] === KEY_SPACE_END)
  return isEnd ? undefined : bytes
}

/** A member of an object; undefined for a missing member and for values that are not objects. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return Reflect.get(value, name)
}

/** The members of an object by name; none for values that are not objects. */
export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

/** A text; empty where there is no text. */
export function textOf(value: unknown, name: string): string {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : ''
}

/** A number; 0 where there is no number. */
export function numberOf(value: unknown, name: string): number {
  const member = memberOf(value, name)
  return typeof member === 'number' ? member : 0
}
