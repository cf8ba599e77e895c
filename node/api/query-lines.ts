// Cuts the body of a query request into queries.

import { ServiceError } from '../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'

export const QUERIES_PER_REQUEST_MAX = 100
/** The largest query. */
export const QUERY_BYTES_MAX = 4 * 1024 * 1024

const LINE_FEED = 0x0a
const SPACE = 0x20
const STEP_BYTES = 256 * 1024

/**
 * Lines are queries of their own if the first of them is a whole one. Refused: a body without a query,
 * too many of them, and one that is too long.
 */
export function* splitQueries(body: Buffer): Sliced<readonly Buffer[]> {
  const lines = yield* linesOf(body)
  const [first] = lines
  if (first === undefined) throw refusal('the body is empty; send a query, such as {}')
  const queries = lines.length === 1 || !isJson(first) ? [body] : lines
  if (queries.length > QUERIES_PER_REQUEST_MAX) {
    const problem = `the body has more than ${QUERIES_PER_REQUEST_MAX} queries; send them in parts`
    throw refusal(problem)
  }
  if (queries.some(({ length }) => length > QUERY_BYTES_MAX)) {
    throw refusal(`a query has at most ${QUERY_BYTES_MAX} bytes; make it shorter`)
  }
  return queries
}

/** Lines that are not blank, not many more than are allowed. */
function* linesOf(body: Buffer): Sliced<readonly Buffer[]> {
  const lines: Buffer[] = []
  const meter = new StepMeter(STEP_BYTES)
  let start = 0
  while (start < body.length && lines.length <= QUERIES_PER_REQUEST_MAX) {
    start = blanksEnd(body, start, start + STEP_BYTES)
    const found = body.indexOf(LINE_FEED, start)
    const end = found < 0 ? body.length : found
    if (!isBlank(body, start, end)) lines.push(body.subarray(start, end))
    if (meter.spend(end - start + STEP_BYTES / 64)) yield
    start = end + 1
  }
  return lines
}

/** The first byte from `from` that is not white space; `until` if there is none before it. */
function blanksEnd(body: Buffer, from: number, until: number): number {
  let at = from
  while (at < until && at < body.length && (body[at] ?? 0) <= SPACE) at += 1
  return at
}

function isBlank(body: Buffer, start: number, end: number): boolean {
  return blanksEnd(body, start, end) >= end
}

/** A longer line is refused anyway. */
function isJson(line: Buffer): boolean {
  if (line.length > QUERY_BYTES_MAX) return false
  try {
    JSON.parse(line.toString())
    return true
  } catch {
    return false
  }
}

function refusal(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
