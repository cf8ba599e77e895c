// The rows of some keys. Few keys are looked up; where many are near each other, the rows between them are walked, which
// costs less than a read for each of them.
//
//   looked up: LOOKED_UP keys ──▶ walked: pages that have WANTED_PER_PAGE_MIN of the keys or more ──▶ looked up …

import { keyAfter, rangeContains, type KeyRange } from '../shard/command/key-range.ts'
import type { ScanRow } from '../shard/shard.ts'

/** Shards of other nodes take a round trip for each. */
const SEEKS_AT_ONCE = 16
/** Keys that are looked up before a page is tried: the page costs about as much as some of them. */
const LOOKED_UP = 64
/** A page with 16 of the keys costs less than 16 lookups. */
const WANTED_PER_PAGE_MIN = 16

/** The part of a shard that is read, and how. */
export interface SoughtPart {
  readonly part: KeyRange
  /** The rows of a range within the part. */
  scan(range: KeyRange): AsyncIterable<ScanRow[]> | Promise<AsyncIterable<ScanRow[]>>
}

/** In key order, each row once. */
export async function* seekKeys(
  parts: readonly SoughtPart[],
  keys: readonly Buffer[],
): AsyncGenerator<ScanRow[]> {
  const sorted = keys.toSorted((a, b) => a.compare(b))
  const unique = sorted.filter((key, i) => i === 0 || sorted[i - 1]?.equals(key) !== true)
  for (const sought of parts) {
    const left = unique.filter((key) => rangeContains(sought.part, key))
    while (left.length > 0) {
      yield* lookUp(sought, left.splice(0, LOOKED_UP))
      if (left.length >= WANTED_PER_PAGE_MIN) yield* walk(sought, left)
    }
  }
}

async function* lookUp(sought: SoughtPart, keys: readonly Buffer[]): AsyncGenerator<ScanRow[]> {
  for (let from = 0; from < keys.length; from += SEEKS_AT_ONCE) {
    const found = keys.slice(from, from + SEEKS_AT_ONCE).map(async (key) => {
      const range = { start: key, end: keyAfter(key) }
      return (await Array.fromAsync(await sought.scan(range))).flat()
    })
    yield (await Promise.all(found)).flat()
  }
}

/** Takes the keys from `left` that it has passed. It ends where pages have few of them. */
async function* walk(sought: SoughtPart, left: Buffer[]): AsyncGenerator<ScanRow[]> {
  const [start, last = start] = [left[0], left.at(-1)]
  if (start === undefined || last === undefined) return
  for await (const page of await sought.scan({ start, end: keyAfter(last) })) {
    const end = page.at(-1)?.key
    const behind = left.findIndex((key) => end === undefined || key.compare(end) > 0)
    const passed = left.splice(0, behind < 0 ? left.length : behind)
    const wanted = new Set(passed.map(nameOf))
    yield page.filter(({ key }) => wanted.has(nameOf(key)))
    if (passed.length < WANTED_PER_PAGE_MIN && left.length > 0) return
  }
  left.length = 0
}

function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
