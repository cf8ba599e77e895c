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
import { SPECIAL_KEYS_MAX, type SpecialFields } from './special/special-fields.ts'
import { splitProjection } from './special/special-selection.ts'

/** `key` names the document in a line; a member of that name in the document gives way to it. */
const KEY_MEMBER = 'key'
const KEY_PATH: FieldPath = { text: KEY_MEMBER, segments: [KEY_MEMBER] }
const NO_FIELDS = '{}'

/** Shorter documents are matched in the step in which they are parsed. */
const SLICED_BYTES_MIN = 64 * 1024
/** Characters of lines that leave together. */
const LINES_LENGTH = 256 * 1024

/** What lines are made with. `special` reads the special members, of this projection of them. */
export interface ScanLinesOptions {
  readonly clock: Clock
  readonly special: (projection: Projection) => SpecialFields
}

/** Turns pages of rows into pages of NDJSON lines, at most `limit` of them. */
export async function* scanLines(
  pages: AsyncIterable<readonly ScanRow[]>,
  request: ScanRequest,
  options: ScanLinesOptions,
): AsyncGenerator<Buffer> {
  const wanted = wantedOf(request)
  const special = wanted.special && options.special(wanted.special)
  let left = request.limit ?? Infinity
  for await (const page of pages) {
    const found = await linesOf(page, wanted, { clock: options.clock, limit: left })
    left -= found.length
    for await (const run of special === undefined ? [found] : completed(found, special)) {
      yield* piecesOf(run)
    }
    if (left === 0) return
  }
}

function* piecesOf(lines: readonly Line[]): Generator<Buffer> {
  let piece = ''
  for (const { text } of lines) {
    piece += text
    if (piece.length < LINES_LENGTH) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (piece !== '') yield Buffer.from(piece)
}

/** A line of the answer, and its document. */
interface Line {
  readonly key: Buffer
  readonly text: string
}

/** The lines of the rows that the filter leaves. */
async function linesOf(
  page: readonly ScanRow[],
  wanted: Wanted,
  { clock, limit }: { readonly clock: Clock; readonly limit: number },
): Promise<readonly Line[]> {
  const slice = new SliceClock(clock)
  const lines: Line[] = []
  for (const { key, record } of page) {
    if (lines.length === limit) break
    if (slice.isOver) await slice.turn()
    const cut = runInTurn(lineOf(key, record, wanted), { clock })
    const text = cut instanceof Promise ? await cut : cut
    if (text !== undefined) lines.push({ key, text })
  }
  return lines
}

/** The same lines with the special members of their documents, in runs: vectors are long. */
async function* completed(
  lines: readonly Line[],
  special: SpecialFields,
): AsyncGenerator<readonly Line[], void> {
  for (let first = 0; first < lines.length; first += SPECIAL_KEYS_MAX) {
    const some = lines.slice(first, first + SPECIAL_KEYS_MAX)
    const members = await special.read(some.map(({ key }) => key))
    yield some.map(({ key, text }, at) => ({ key, text: withMembers(text, members[at]) }))
  }
}

interface Wanted extends Pick<ScanRequest, 'filter' | 'projection'> {
  /** Where the filter looks. */
  readonly paths: readonly FieldPath[]
  readonly special: Projection | undefined
}

function wantedOf({ filter, projection }: ScanRequest): Wanted {
  const parts = projection && splitProjection(projection)
  return {
    filter,
    special: parts?.special,
    projection: parts === undefined ? undefined : withoutKey(parts.body),
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

/** The line with further members; both are JSON objects. */
function withMembers(line: string, more = NO_FIELDS): string {
  return more === NO_FIELDS ? line : `${line.slice(0, -2)},${more.slice(1)}\n`
}

function withoutKey({ included, excluded }: Projection): Projection {
  return { included, excluded: buildPathSet([...excluded.paths, KEY_PATH]) }
}
