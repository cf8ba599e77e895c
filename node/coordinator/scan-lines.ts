import { assert } from '../../lib/assert.ts'
import { parseExact, stringifyExact, type JsonObject } from '../document/exact-json.ts'
import { isJsonObject, withoutMember } from '../document/json-object.ts'
import { matchesFilter } from '../query/document-filter.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../shard/format/document-record.ts'
import type { ScanRow } from '../shard/shard.ts'
import type { ScanRequest } from './store-service.ts'
import { projectStored } from './stored-projection.ts'

/** `key` names the document in a line; a member of that name in the document gives way to it. */
const KEY_MEMBER = 'key'

/** Turns pages of rows into pages of NDJSON lines, at most `limit` of them. */
export async function* scanLines(
  pages: AsyncIterable<readonly ScanRow[]>,
  { filter, projection, limit = Infinity }: ScanRequest,
): AsyncGenerator<Buffer> {
  let left = limit
  for await (const page of pages) {
    let lines = ''
    for (const { key, record } of page) {
      if (left === 0) break
      const line = lineOf(key, record, { filter, projection })
      if (line === undefined) continue
      lines += line
      left--
    }
    if (lines !== '') yield Buffer.from(lines)
    if (left === 0) return
  }
}

/** Undefined for a document that the filter leaves out. */
function lineOf(
  key: Buffer,
  record: DocumentRecord,
  { filter, projection }: Pick<ScanRequest, 'filter' | 'projection'>,
): string | undefined {
  const name = `{"${KEY_MEMBER}":${JSON.stringify(key.toString())}`
  if (filter === undefined && projection === undefined) return `${name}}\n`
  const document = documentOf(record)
  if (filter !== undefined && !matchesFilter(filter, document, key)) return undefined
  if (projection === undefined) return `${name}}\n`
  const fields = projectStored(document, projection, versionOf(record))
  const text = stringifyExact(withoutMember(fields, KEY_MEMBER))
  return text === '{}' ? `${name}}\n` : `${name},${text.slice(1)}\n`
}

function documentOf(record: DocumentRecord): JsonObject {
  const document = parseExact(jsonOf(record))
  assert(isJsonObject(document), 'a stored document is a JSON object')
  return document
}
