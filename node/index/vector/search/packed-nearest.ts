// An answer on its way from a worker: columns of numbers. The receiver of a message reads all of it at once,
// and thousands of objects would hold up its event loop.

import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { NearestAnswer, NearestHit, PackedNearest } from '../vector-search.ts'
import type { NearestCandidate } from './nearest-documents.ts'

/** Hits that are written or read in some tenths of a millisecond. */
const HITS_PER_STEP = 512

/** `found` in the order of the hits. */
export function* packNearest(
  found: readonly NearestCandidate[],
  total: number,
): Sliced<PackedNearest> {
  const meter = new StepMeter(HITS_PER_STEP)
  const count = found.length
  let keyBytes = 0
  for (const { rows, doc } of found) {
    keyBytes += rows.keyOf(doc).length
    if (meter.spend(1)) yield
  }
  // All columns share a buffer: to allocate each, and to send it, would take as long as some comparisons.
  const buffer = new ArrayBuffer(count * (8 + 4 * 5) + keyBytes)
  const column = (at: number): Uint32Array<ArrayBuffer> => {
    return new Uint32Array(buffer, count * (8 + 4 * at), count)
  }
  const keyEnds = column(4)
  const packed = {
    total,
    keyEnds,
    keys: new Uint8Array(buffer, count * (8 + 4 * 5), keyBytes),
    ordinals: column(0),
    distances: new Float64Array(buffer, 0, count),
    rows: column(1),
    starts: column(2),
    ends: column(3),
  }
  let keyEnd = 0
  for (const [i, { rows, doc, row, distance }] of found.entries()) {
    const key = rows.keyOf(doc)
    packed.keys.set(key, keyEnd)
    keyEnd += key.length
    keyEnds[i] = keyEnd
    packed.ordinals[i] = rows.ordinalOf(doc)
    packed.distances[i] = distance
    packed.rows[i] = row - rows.firstRowOf(doc)
    packed.starts[i] = rows.startOf(row)
    packed.ends[i] = rows.endOf(row)
    if (meter.spend(1)) yield
  }
  return packed
}

/** The answer itself. Its keys are parts of one buffer. */
export function* unpackNearest(packed: PackedNearest): Sliced<NearestAnswer> {
  const { keyEnds, keys, ordinals, distances, rows, starts, ends } = packed
  const meter = new StepMeter(HITS_PER_STEP)
  const hits: NearestHit[] = []
  for (let i = 0; i < keyEnds.length; i += 1) {
    hits.push({
      key: keys.subarray(keyEnds[i - 1] ?? 0, keyEnds[i]),
      ordinal: must(ordinals[i], 'an ordinal'),
      distance: must(distances[i], 'a distance'),
      row: must(rows[i], 'a row'),
      start: must(starts[i], 'a start'),
      end: must(ends[i], 'an end'),
    })
    if (meter.spend(1)) yield
  }
  return { hits, total: packed.total }
}
