import type { Clock } from '../../lib/clock.ts'
import { HeldPart, type HeldMemory } from '../../lib/http/request-memory.ts'
import { runInTurn, SliceClock, type Sliced } from '../../lib/sliced.ts'
import type { FieldPath } from '../document/field-path.ts'
import { buildPathSet, type Projection } from '../document/projection.ts'
import type { DocumentTester } from '../index/text/documents/document-tester.ts'
import { jsonOf, versionOf } from '../shard/format/document-record.ts'
import type { ScanRow } from '../shard/shard.ts'
import type { ScanRequest } from './scan-request.ts'
import { projectStored } from './stored-projection.ts'
import { SPECIAL_KEYS_MAX, type SpecialReader } from './special/special-reader.ts'
import { splitProjection } from './special/special-selection.ts'

/** `key` names the document in a line; a member of that name in the document gives way to it, but not in an envelope. */
const KEY_MEMBER = 'key'
const KEY_PATH: FieldPath = { text: KEY_MEMBER, segments: [KEY_MEMBER] }
const NO_FIELDS = '{}'

/** The fields of longer documents are not made text, and their lines are charged beside them. */
const LONG_BYTES_MIN = 64 * 1024
/** The documents that are tested together, and their bytes. One of more bytes is tested alone. */
const TESTED_ROWS_MAX = 128
const TESTED_BYTES_MAX = 1024 * 1024
/** Characters of lines that leave together. */
const LINES_LENGTH = 256 * 1024
/** What a row takes in memory beside its bytes: two buffers of the storage engine, and what refers to them. */
const ROW_BYTES = 1536
/** A long document is cut, and cut again, and then put into its line. */
const COPIES_OF_LONG_LINE = 2

/** What lines are made with. `special` reads the special members, of this projection of them. */
export interface ScanLinesOptions {
  readonly clock: Clock
  /** Undefined: every row becomes a line. */
  readonly tester: DocumentTester | undefined
  readonly special: (projection: Projection) => SpecialReader
  /** Charged with the rows that were read and not sent, while the reader takes its time; undefined: nobody is. */
  readonly memory: HeldMemory | undefined
}

/** Turns pages of rows that pass the tester into pages of NDJSON lines, at most `limit` of them. It empties the pages. */
export async function* scanLines(
  pages: AsyncIterable<ScanRow[]>,
  request: Pick<ScanRequest, 'projection' | 'inEnvelope' | 'limit'>,
  { clock, tester, special: specialOf, memory }: ScanLinesOptions,
): AsyncGenerator<Buffer> {
  const wanted = wantedOf(request)
  const special = wanted.special && specialOf(wanted.special)
  using rows = new WaitingRows(memory)
  const maker = new LineMaker(rows, { wanted, clock, special })
  let left = request.limit ?? Infinity
  for await (const page of pages) {
    rows.take(page)
    if (tester !== undefined) await rows.keepPassing(tester, clock)
    while (rows.length > 0 && left > 0) {
      const { text, lines } = await maker.next(left)
      left -= lines
      if (text.length > 0) yield text
    }
    if (left === 0) return
  }
}

/** The rows of a page that wait for their reader, charged as long as they do. */
class WaitingRows implements Disposable {
  readonly #held: HeldPart
  /** The next one is at the end. */
  #rows: ScanRow[] = []

  constructor(memory: HeldMemory | undefined) {
    this.#held = new HeldPart(memory)
  }

  get length(): number {
    return this.#rows.length
  }

  take(page: ScanRow[]): void {
    this.#rows = page.splice(0).toReversed()
    this.#charge()
  }

  /** Drops the rows that do not pass. */
  async keepPassing(tester: DocumentTester, clock: Clock): Promise<void> {
    const kept: ScanRow[] = []
    for (const rows of batchesOf(this.#rows)) {
      const documents = rows.map(({ key, record }) => ({ key, json: jsonOf(record) }))
      const passed = await runInTurn(tester.test(documents), { clock })
      kept.push(...rows.filter((_, at) => passed[at]))
    }
    this.#rows = kept
    this.#charge()
  }

  #charge(): void {
    this.#held.set(this.#rows.reduce((sum, row) => sum + bytesOfRow(row), 0))
  }

  /** The row stays charged until it is dropped. */
  next(): ScanRow | undefined {
    return this.#rows.at(-1)
  }

  drop(): void {
    const row = this.#rows.pop()
    if (row !== undefined) this.#held.set(Math.max(0, this.#held.bytes - bytesOfRow(row)))
    if (this.#rows.length === 0) this.#held.set(0)
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]()
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

function bytesOfRow({ key, record }: ScanRow): number {
  const long = record.length > LONG_BYTES_MIN ? COPIES_OF_LONG_LINE * record.length : 0
  return ROW_BYTES + key.length + record.length + long
}

interface MakerOptions {
  readonly wanted: Wanted
  readonly clock: Clock
  /** Undefined: the lines have no special members. */
  readonly special: SpecialReader | undefined
}

/** Some lines together, and how many. */
interface Lines {
  readonly text: Buffer
  readonly lines: number
}

const NO_LINES: Lines = { text: Buffer.alloc(0), lines: 0 }

/** Makes lines of rows, and drops each row when its line is there. */
class LineMaker {
  readonly #rows: WaitingRows
  readonly #with: MakerOptions
  readonly #slice: SliceClock

  constructor(rows: WaitingRows, options: MakerOptions) {
    this.#rows = rows
    this.#with = options
    this.#slice = new SliceClock(options.clock)
  }

  /** At most `limit` lines, as many as leave together. */
  async next(limit: number): Promise<Lines> {
    const { special, wanted, clock } = this.#with
    const linesMax = special === undefined ? limit : Math.min(limit, SPECIAL_KEYS_MAX)
    const lines: Line[] = []
    let length = 0
    while (lines.length < linesMax && length < LINES_LENGTH) {
      const row = this.#rows.next()
      if (row === undefined) break
      if (this.#slice.isOver) await this.#slice.turn()
      const cut = runInTurn(lineOf(row, wanted), { clock })
      const line = cut instanceof Promise ? await cut : cut
      this.#rows.drop()
      lines.push(line)
      length += lengthOf(line)
    }
    if (lines.length === 0) return NO_LINES
    // Members of documents are long: they are asked for when their rows are gone.
    const members = await special?.read(lines.map(({ key }) => key))
    return { text: textOf(lines, members, wanted), lines: lines.length }
  }
}

/** A line of the answer without its end, and its document. The fields of a long document are not made text. */
interface Line {
  readonly key: Buffer
  readonly start: string
  readonly fields: Buffer | undefined
  /** Whether the object that further members go into has members. */
  readonly hasMembers: boolean
}

const lengthOf = ({ start, fields }: Line): number => start.length + (fields?.length ?? 0)

/** `members` are JSON objects with further members of the lines. */
function textOf(
  lines: readonly Line[],
  members: readonly string[] | undefined,
  { inEnvelope }: Pick<Wanted, 'inEnvelope'>,
): Buffer {
  const end = inEnvelope ? '}\n' : '\n'
  const parts: Buffer[] = []
  let text = ''
  for (const [at, { start, fields, hasMembers }] of lines.entries()) {
    text += start
    if (fields !== undefined) {
      parts.push(Buffer.from(text), fields)
      text = ''
    }
    const more = members?.[at] ?? NO_FIELDS
    text += more === NO_FIELDS ? `}${end}` : `${hasMembers ? ',' : ''}${more.slice(1)}${end}`
  }
  const last = Buffer.from(text)
  return parts.length === 0 ? last : Buffer.concat([...parts, last])
}

interface Wanted extends Pick<ScanRequest, 'projection' | 'inEnvelope'> {
  readonly special: Projection | undefined
}

function wantedOf({
  projection,
  inEnvelope,
}: Pick<ScanRequest, 'projection' | 'inEnvelope'>): Wanted {
  if (projection === undefined) return { special: undefined, projection, inEnvelope }
  const { special, body } = splitProjection(projection)
  return { special, projection: inEnvelope ? body : withoutKey(body), inEnvelope }
}

function* lineOf(row: ScanRow, { projection, inEnvelope }: Wanted): Sliced<Line> {
  const { key, record } = row
  const name = JSON.stringify(key.toString())
  const start = inEnvelope ? `{"_key":${name},"_document":{` : `{"${KEY_MEMBER}":${name}`
  if (projection === undefined && !inEnvelope) {
    return { key, start, fields: undefined, hasMembers: true }
  }
  const json = jsonOf(record)
  const fields =
    projection === undefined ? json : yield* projectStored(json, projection, versionOf(record))
  return withFields({ key, start, fields: undefined, hasMembers: !inEnvelope }, fields)
}

/** The line with the members of the JSON object `fields`. */
function withFields(line: Line, fields: Buffer): Line {
  const start = line.hasMembers ? `${line.start},` : line.start
  if (fields.length > LONG_BYTES_MIN) {
    return { ...line, start, fields: fields.subarray(1, -1), hasMembers: true }
  }
  const text = fields.toString()
  if (text === NO_FIELDS) return line
  return { ...line, start: start + text.slice(1, -1), hasMembers: true }
}

function withoutKey({ included, excluded }: Projection): Projection {
  return { included, excluded: buildPathSet([...excluded.paths, KEY_PATH]) }
}
