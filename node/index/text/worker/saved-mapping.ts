// The file `mapping` beside a text index: what was decided about its fields, and by which schema.
// Format: docs/formats/text-index-directory.md.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../../lib/errors.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { SavedFields } from '../mapping/field-registry.ts'
import { checksum } from '../segment/byte-buffer.ts'

const FILE = 'mapping'
const FORMAT_VERSION = 2

export interface SavedMapping {
  readonly schema: TableSchema | undefined
  readonly fields: SavedFields
}

interface StoredMapping {
  readonly version: number
  readonly schema?: TableSchema
  readonly fields: SavedFields
}

/** All or nothing, and durable when it returns. */
export function writeMapping(directory: string, { schema, fields }: SavedMapping): void {
  const stored: StoredMapping = {
    version: FORMAT_VERSION,
    ...(schema === undefined ? {} : { schema }),
    fields,
  }
  const body = JSON.stringify(stored)
  const file = path.join(directory, FILE)
  withFile(`${file}.new`, 'w', (fd) => writeFileSync(fd, `${body}\n${sumOf(body)}\n`))
  renameSync(`${file}.new`, file)
  withFile(directory, 'r', () => undefined)
}

/** Undefined if there is none; CORRUPTION if it is damaged. */
export function readMapping(directory: string): SavedMapping | undefined {
  const text = readIfPresent(path.join(directory, FILE))
  if (text === undefined) return undefined
  const { body = '', sum } = /^(?<body>.*)\n(?<sum>[0-9a-f]{8})\n$/.exec(text)?.groups ?? {}
  if (sum !== sumOf(body)) throw damaged('is damaged')
  // The checksum says that it is what we wrote.
  const stored: StoredMapping = JSON.parse(body)
  if (stored.version !== FORMAT_VERSION) throw damaged(`has version ${stored.version}`)
  return { schema: stored.schema, fields: stored.fields }
}

function damaged(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `the text index file ${FILE} ${what}; rebuild the index`)
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

function withFile(file: string, flags: 'r' | 'w', use: (fd: number) => void): void {
  const fd = openSync(file, flags, 0o600)
  try {
    use(fd)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
