// Which of two forms of an answer a client wants: RFC 9110, section 12.5.1.

interface MediaRange {
  readonly type: string
  /** From 0 (not acceptable) to 1. */
  readonly quality: number
}

const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
const RANGES_MAX = 32

/**
 * True only if the client names JSON and gives it at least the quality of bytes. A wildcard does
 * not ask for JSON, because every client sends one.
 */
export function prefersJson(accept: string | undefined): boolean {
  const ranges = parseRanges(accept ?? '')
  const json = namedQuality(ranges, [JSON_TYPE, 'application/*+json'])
  if (json === undefined || json === 0) return false
  return json >= (namedQuality(ranges, [BYTES_TYPE]) ?? 0)
}

function namedQuality(ranges: readonly MediaRange[], types: readonly string[]): number | undefined {
  return ranges.find(({ type }) => types.includes(type))?.quality
}

function parseRanges(header: string): MediaRange[] {
  return header
    .split(',', RANGES_MAX)
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    .map(([type = '', ...parameters]) => ({ type, quality: qualityOf(parameters) }))
}

function qualityOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (text === undefined) return 1
  // A quality that is not a valid weight counts as "not acceptable".
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
