import type { Clock } from '../../lib/clock.ts'
import { runInTurn, SliceClock, type Sliced } from '../../lib/sliced.ts'
import type { FieldPath } from '../document/field-path.ts'
import { buildPathSet, type Projection } from '../document/projection.ts'
import type { DocumentTester } from '../index/text/documents/document-tester.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../shard/format/document-record.ts'
import type { ScanRow } from '../shard/shard.ts'
import type { ScanRequest } from './store-service.ts'
import { projectStored } from './query/stored-projection.ts'
import { SPECIAL_KEYS_MAX, type SpecialFields } from './special/special-fields.ts'
import { splitProjection } from './special/special-selection.ts'

/** `key` names the document in a line; a member of that name in the document gives way to it. */
const KEY_MEMBER = 'key'
const KEY_PATH: FieldPath = { text: KEY_MEMBER, segments: [KEY_MEMBER] }
const NO_FIELDS = '{}'

/** The documents that are tested together, and their bytes. One of more bytes is tested alone. */
const TESTED_ROWS_MAX = 128
const TESTED_BYTES_MAX = 1024 * 1024
/** Characters of lines that leave together. */
const LINES_LENGTH = 256 * 1024

/** What lines are made with. `special` reads the special members, of this projection of them. */
export interface ScanLinesOptions {
  readonly clock: Clock
  /** Undefined: every row becomes a line. */
  readonly tester: DocumentTester | undefined
  readonly special: (projection: Projection) => SpecialFields
}

/** Turns pages of rows that pass the tester into pages of NDJSON lines, at most `limit` of them. */
export async function* scanLines(
  pages: AsyncIterable<readonly ScanRow[]>,
  request: Pick<ScanRequest, 'projection' | 'limit'>,
  options: ScanLinesOptions,
): AsyncGenerator<Buffer> {
  const { clock, tester } = options
  const wanted = wantedOf(request)
  const special = wanted.special && options.special(wanted.special)
  let left = request.limit ?? Infinity
  for await (const page of pages) {
    for await (const rows of tester === undefined ? [page] : passing(page, tester, clock)) {
      const found = await linesOf(rows, wanted, { clock, limit: left })
      left -= found.length
      for await (const run of special === undefined ? [found] : completed(found, special)) {
        yield* piecesOf(run)
      }
      if (left === 0) return
    }
  }
}

/** The rows that pass, in batches, because the rows of a page may be many bytes. */
async function* passing(
  page: readonly ScanRow[],
  tester: DocumentTester,
  clock: Clock,
): AsyncGenerator<readonly ScanRow[]> {
  for (const rows of batchesOf(page)) {
    const documents = rows.map(({ key, record }) => ({ key, json: jsonOf(record) }))
    const passed = await runInTurn(tester.test(documents), { clock })
    yield rows.filter((_, at) => passed[at])
  }
}

function* batchesOf(page: readonly ScanRow[]): Generator<readonly ScanRow[]> {
  let rows: ScanRow[] = []
  let bytes = 0
  for (const row of page) {
    const { length } = jsonOf(row.record)
    const isFull = rows.length === TESTED_ROWS_MAX || bytes + length > TESTED_BYTES_MAX
    if (isFull && rows.length > 0) {
      yield rows
      rows = []
      bytes = 0
    }
    rows.push(row)
    bytes += length
  }
  if (rows.length > 0) yield rows
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
    lines.push({ key, text: cut instanceof Promise ? await cut : cut })
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

interface Wanted extends Pick<ScanRequest, 'projection'> {
  readonly special: Projection | undefined
}

function wantedOf({ projection }: Pick<ScanRequest, 'projection'>): Wanted {
  const parts = projection && splitProjection(projection)
  return {
    special: parts?.special,
    projection: parts === undefined ? undefined : withoutKey(parts.body),
  }
}

function* lineOf(key: Buffer, record: DocumentRecord, { projection }: Wanted): Sliced<string> {
  const name = `{"${KEY_MEMBER}":${JSON.stringify(key.toString())}`
  if (projection === undefined) return `${name}}\n`
  const fields = (yield* projectStored(jsonOf(record), projection, versionOf(record))).toString()
  return fields === NO_FIELDS ? `${name}}\n` : `${name},${fields.slice(1)}\n`
}

/** The line with further members; both are JSON objects. */
function withMembers(line: string, more = NO_FIELDS): string {
  return more === NO_FIELDS ? line : `${line.slice(0, -2)},${more.slice(1)}\n`
}

function withoutKey({ included, excluded }: Projection): Projection {
  return { included, excluded: buildPathSet([...excluded.paths, KEY_PATH]) }
}
