// What a cursor into an order by scores carries of the page that it is from: the statistics that its scores
// depend on. Pages behind it score by them, so that a document that nobody touches keeps its score and its
// place, whatever is written, deleted, merged or restarted in between, and on whichever node.
//
// The form is a digit, and JSON in base64url: as it is (0), or compressed (1) if it is long, because to compress takes
// as long as to find a page.
//
//   [[field, documents, length]..., [field\0term, documents]..., [expansion, [term...] | 0]...]

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { isJsonRecord } from '../../../lib/json-record.ts'
import type { TextStatistics } from '../../index/text/search/text-search.ts'
import { refuse } from '../../query/query-limits.ts'

/** The length of what each cursor carries. The page of a query of more words has cursors without it. */
const SCORING_LENGTH_MAX = 8192
/** Shorter JSON is not compressed. */
const PLAIN_BYTES_MAX = 512
/** JSON of statistics is repetitive, but honest JSON does not unpack to more than 1 MiB. */
const JSON_BYTES_MAX = 1024 * 1024

type Statistics = TextStatistics

/** Undefined if it would be too long: pages behind the cursor then score by the statistics of their own time. */
export function encodeScoring({ fields, docFreqs, expansions }: Statistics): string | undefined {
  const parts = {
    f: [...fields].map(([name, { docCount, totalLength }]) => [name, docCount, totalLength]),
    d: [...docFreqs],
    e: [...expansions].map(([key, terms]) => [key, terms === 'too-many' ? 0 : terms]),
  }
  const json = Buffer.from(JSON.stringify(parts))
  const isPlain = json.length <= PLAIN_BYTES_MAX
  const text = isPlain
    ? `0${json.toString('base64url')}`
    : `1${deflateRawSync(json).toString('base64url')}`
  return text.length <= SCORING_LENGTH_MAX ? text : undefined
}

/** Throws INVALID_ARGUMENT for what `encodeScoring` did not make. `where` is the place of the cursor. */
export function decodeScoring(text: string, where: string): Statistics {
  const parts = text.length <= SCORING_LENGTH_MAX ? jsonOf(text) : undefined
  const { f, d, e } = isJsonRecord(parts) ? parts : {}
  const fields = rowsOf(f, (_, docCount, totalLength) =>
    isCount(docCount) && isCount(totalLength) ? { docCount, totalLength } : undefined,
  )
  const docFreqs = rowsOf(d, (_, count) => (isCount(count) ? count : undefined))
  const expansions = rowsOf(e, (_, terms) => (terms === 0 ? 'too-many' : textsOf(terms)))
  if (fields !== undefined && docFreqs !== undefined && expansions !== undefined) {
    return { fields, docFreqs, expansions }
  }
  return refuse(where, 'damaged; hand back the _sort of a hit')
}

function jsonOf(text: string): unknown {
  try {
    const bytes = Buffer.from(text.slice(1), 'base64url')
    const json = text.startsWith('0')
      ? bytes
      : inflateRawSync(bytes, { maxOutputLength: JSON_BYTES_MAX })
    const value: unknown = JSON.parse(json.toString('utf8'))
    return value
  } catch {
    return undefined // the caller says what is wrong with it
  }
}

/** Undefined if a row is not what it should be. */
function rowsOf<Value>(
  rows: unknown,
  read: (name: string, first: unknown, second: unknown) => Value | undefined,
): ReadonlyMap<string, Value> | undefined {
  if (!Array.isArray(rows)) return undefined
  const found = new Map<string, Value>()
  for (const row of rows as readonly unknown[]) {
    if (!Array.isArray(row)) return undefined
    const [name, first, second]: readonly unknown[] = row
    const value = typeof name === 'string' ? read(name, first, second) : undefined
    if (typeof name !== 'string' || value === undefined) return undefined
    found.set(name, value)
  }
  return found
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
}
