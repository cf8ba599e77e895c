// The file `mapping` beside a text index: by which schema, which fields of the table's list and which
// analysis its documents were mapped.
// Format: docs/reference/formats/text-index-directory.md.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced } from '../../../../lib/sliced.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { isJsonRecord } from '../../../../lib/json-record.ts'
import { parseTableFields, type TableField, type ValueKind } from '../../../schema/table-field.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { replaceDurably } from '../../files/durable-file.ts'
import { checksum } from '../encoding/byte-buffer.ts'

export const MAPPING_FILE = 'mapping'
/**
 * Goes up when the file changes, and also when the analysis makes other terms of a text, or segments have
 * another order, or documents other fields.
 */
const FORMAT_VERSION = 10

/** The mapping of an index's documents, as its file has it. */
export interface SavedMapping {
  readonly kind: 'saved'
  readonly schema: TableSchema | undefined
  readonly fields: readonly TableField[]
}

/** One that was written by an earlier version of the product: the index has to be built again. */
export interface OutdatedMapping {
  readonly kind: 'outdated'
  readonly version: number
  /** What it knew of fields, so that the next index decides about them alike. */
  readonly fields: readonly TableField[]
}

interface StoredMapping {
  readonly version: number
  readonly schema?: TableSchema
  readonly fields: unknown
}

/** All or nothing, and durable when it ends. */
export function* writeMapping(
  directory: string,
  { schema, fields }: Pick<SavedMapping, 'schema' | 'fields'>,
  disk: DiskWork,
): Paced<void> {
  const stored: StoredMapping = {
    version: FORMAT_VERSION,
    ...(schema === undefined ? {} : { schema }),
    fields,
  }
  const body = JSON.stringify(stored)
  const bytes = Buffer.from(`${body}\n${sumOf(body)}\n`)
  yield* replaceDurably(path.join(directory, MAPPING_FILE), bytes, disk)
}

/** Undefined if there is none; CORRUPTION if it is damaged. */
export function readMapping(directory: string): SavedMapping | OutdatedMapping | undefined {
  const text = readIfPresent(path.join(directory, MAPPING_FILE))
  if (text === undefined) return undefined
  const { body = '', sum } = /^(?<body>.*)\n(?<sum>[0-9a-f]{8})\n$/.exec(text)?.groups ?? {}
  if (sum !== sumOf(body)) throw damaged('is damaged')
  // The checksum says that it is what we wrote.
  const stored: StoredMapping = JSON.parse(body)
  const { version, schema } = stored
  if (version > FORMAT_VERSION) throw damaged(`has version ${version}`)
  if (version < FORMAT_VERSION) {
    return { kind: 'outdated', version, fields: outdatedFields(stored.fields) }
  }
  return { kind: 'saved', schema, fields: parseTableFields(stored.fields) }
}

/** The types that versions 1 and 2 saved tell what the first value was; those of no kind tell nothing. */
const KIND_BY_TYPE: Readonly<Record<string, ValueKind>> = {
  text: 'string',
  html: 'string',
  keyword: 'string',
  search_as_you_type: 'string',
  link: 'string',
  numeric: 'number',
  boolean: 'boolean',
  datetime: 'date',
}

function outdatedFields(saved: unknown): readonly TableField[] {
  if (Array.isArray(saved)) return parseTableFields(saved)
  const decisions = isJsonRecord(saved) ? saved['fields'] : undefined
  if (!isJsonRecord(decisions)) return []
  return Object.entries(decisions).flatMap(([name, decision]) => {
    const types = isJsonRecord(decision) ? decision['types'] : undefined
    const type: unknown = Array.isArray(types) ? types[0] : undefined
    const kind = typeof type === 'string' ? KIND_BY_TYPE[type] : undefined
    return kind === undefined ? [] : [{ path: name.split('.'), kind, documentType: undefined }]
  })
}

function damaged(what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `the text index file ${MAPPING_FILE} ${what}; rebuild the index`,
  )
}

function sumOf(body: string): string {
  return checksum(Buffer.from(body)).toString(16).padStart(8, '0')
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
