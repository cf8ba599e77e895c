// The tests of queries on the values of a column. A document may have several values, or none.

import { setBit, type Bitset } from '../../encoding/bitset.ts'
import type { ColumnChunk } from '../segment/column.ts'
import { f64At, u32At } from './bulk-search.ts'
import type { EngineQueryOf } from '../engine-query.ts'

/** Queries about the values of a column. */
export type ColumnQuery = EngineQueryOf<'range' | 'area'>

/** A query about a column, prepared for one segment. Both members accept the same documents. */
export interface ColumnTest {
  /** Whether one of the values from `from` to `to` (not included) matches. */
  readonly passes: ValueTest
  /**
   * Adds the passing documents of a chunk to `bits`; the chunk starts at document `from`. It is a
   * loop of its own, because a call for each document or the body of a generator would be slower.
   */
  readonly addPassing: (bits: Bitset, from: number, chunk: ColumnChunk) => void
}

export type ValueTest = (values: Float64Array, from: number, to: number) => boolean

export function testOf(query: ColumnQuery): ColumnTest {
  return query.kind === 'range' ? rangeTest(query) : areaTest(query)
}

/** Tests for a value in the range, with both ends, or for one of `among`. */
export function rangeTest(range: {
  readonly min: number
  readonly max: number
  readonly among?: ReadonlySet<number>
}): ColumnTest {
  const { min, max, among } = range
  if (among !== undefined) return listTest(among)
  return {
    passes: (values, from, to) => {
      for (let i = from; i < to; i += 1) {
        const value = f64At(values, i)
        if (value >= min && value <= max) return true
      }
      return false
    },
    addPassing: (bits, from, chunk) => addInRange(bits, from, { ...chunk, ...range }),
  }
}

function listTest(among: ReadonlySet<number>): ColumnTest {
  return {
    passes: (values, from, to) => {
      for (let i = from; i < to; i += 1) if (among.has(f64At(values, i))) return true
      return false
    },
    addPassing: (bits, from, { values, ends }) => {
      let i = 0
      for (let at = 0; at < ends.length; at += 1) {
        const end = u32At(ends, at)
        for (; i < end; i += 1) if (among.has(f64At(values, i))) setBit(bits, from + at)
      }
    },
  }
}

function addInRange(
  bits: Bitset,
  from: number,
  { values, ends, min, max }: ColumnChunk & { readonly min: number; readonly max: number },
): void {
  let i = 0
  for (let at = 0; at < ends.length; at += 1) {
    const end = u32At(ends, at)
    for (; i < end; i += 1) {
      const value = f64At(values, i)
      if (value >= min && value <= max) setBit(bits, from + at)
    }
  }
}

/** A box whose west is greater than its east crosses the antimeridian. */
function areaTest(query: EngineQueryOf<'area'>): ColumnTest {
  const { box } = query
  const passes: ValueTest = (values, from, to) => {
    for (let i = from; i < to; i += 2) {
      const lon = f64At(values, i)
      const lat = f64At(values, i + 1)
      if (isInBox(box, lon, lat) && query.contains(lon, lat)) return true
    }
    return false
  }
  return {
    passes,
    addPassing: (bits, from, { values, ends }) => {
      let first = 0
      for (let at = 0; at < ends.length; at += 1) {
        const end = u32At(ends, at)
        if (passes(values, first, end)) setBit(bits, from + at)
        first = end
      }
    },
  }
}

function isInBox(box: EngineQueryOf<'area'>['box'], lon: number, lat: number): boolean {
  if (lat < box.south || lat > box.north) return false
  if (box.west <= box.east) return lon >= box.west && lon <= box.east
  return lon >= box.west || lon <= box.east
}
