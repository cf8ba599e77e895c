import type { Clock } from '../../lib/clock.ts'
import { runInTurn, SliceClock, type Sliced } from '../../lib/sliced.ts'
import type { FieldPath } from '../document/field-path.ts'
import { isJsonObject } from '../document/json-object.ts'
import { documentAtPaths } from '../document/project-text.ts'
import { buildPathSet, type Projection } from '../document/projection.ts'
import { matchesFilter } from '../query/filter/document-filter.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../shard/format/document-record.ts'
import type { ScanRow } from '../shard/shard.ts'
import { pathsOfFilter } from '../query/filter/filter-paths.ts'
import type { ScanRequest } from './store-service.ts'
import { projectStored } from './query/stored-projection.ts'

/** `key` names the document in a line; a member of that name in the document gives way to it. */
const KEY_MEMBER = 'key'
const KEY_PATH: FieldPath = { text: KEY_MEMBER, segments: [KEY_MEMBER] }
const NO_FIELDS = '{}'

/** Shorter documents are matched in the step in which they are parsed. */
const SLICED_BYTES_MIN = 64 * 1024
/** Characters of lines that leave together. */
const LINES_LENGTH = 256 * 1024

/** Turns pages of rows into pages of NDJSON lines, at most `limit` of them. */
export async function* scanLines(
  pages: AsyncIterable<readonly ScanRow[]>,
  request: ScanRequest,
  clock: Clock,
): AsyncGenerator<Buffer> {
  const slice = new SliceClock(clock)
  const wanted = wantedOf(request)
  let left = request.limit ?? Infinity
  let lines = ''
  for await (const page of pages) {
    for (const { key, record } of page) {
      if (left === 0) break
      if (slice.isOver) await slice.turn()
      const cut = runInTurn(lineOf(key, record, wanted), { clock })
      const line = cut instanceof Promise ? await cut : cut
      if (line === undefined) continue
      lines += line
      left--
      if (lines.length < LINES_LENGTH) continue
      yield Buffer.from(lines)
      lines = ''
    }
    if (lines !== '') yield Buffer.from(lines)
    lines = ''
    if (left === 0) return
  }
}

interface Wanted extends Pick<ScanRequest, 'filter' | 'projection'> {
  /** Where the filter looks. */
  readonly paths: readonly FieldPath[]
}

function wantedOf({ filter, projection }: ScanRequest): Wanted {
  return {
    filter,
    projection: projection === undefined ? undefined : withoutKey(projection),
    paths: filter === undefined ? [] : pathsOfFilter(filter),
  }
}

/** Undefined for a document that the filter leaves out. */
function* lineOf(
  key: Buffer,
  record: DocumentRecord,
  { filter, projection, paths }: Wanted,
): Sliced<string | undefined> {
  const name = `{"${KEY_MEMBER}":${JSON.stringify(key.toString())}`
  const json = jsonOf(record)
  if (filter !== undefined) {
    const document = yield* documentAtPaths(json, paths)
    // The text that the filter matches may be long itself.
    if (json.length > SLICED_BYTES_MIN) yield
    if (!isJsonObject(document) || !matchesFilter(filter, document, key)) return undefined
  }
  if (projection === undefined) return `${name}}\n`
  const fields = (yield* projectStored(json, projection, versionOf(record))).toString()
  return fields === NO_FIELDS ? `${name}}\n` : `${name},${fields.slice(1)}\n`
}

function withoutKey({ included, excluded }: Projection): Projection {
  return { included, excluded: buildPathSet([...excluded.paths, KEY_PATH]) }
}
