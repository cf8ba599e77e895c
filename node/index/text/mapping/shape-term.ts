// A shape as a term of the index. The term is JSON, and its beginning decides whether the rest must
// be parsed.
//
//   [[west,south,east,north],["point",[lon,lat]],["polygon",[lon,lat,lon,lat,...],[...]],...]
//
// Equal shapes are one term. Format: docs/reference/formats/text-index-directory.md.

import { must } from '../../../../lib/assert.ts'
import { boxesMeet, type Box, type Path } from '../../../geo/plane.ts'
import { partOf, type ShapePart, type Shape } from '../../../geo/shape.ts'
import type { TermMatcher } from '../engine-query.ts'

/** Testing a shape takes a few thousand times as long as testing a word. */
const LOOK_COST = 1000

export function shapeTerm(shape: Shape): string {
  const { west, south, east, north } = boxOfAll(shape)
  const parts = shape.map(({ kind, paths }) => [kind, ...paths.map(flat)])
  return JSON.stringify([[west, south, east, north], ...parts])
}

/**
 * Matches the terms of shapes that pass. `box` contains all of them. It crosses the 180th meridian
 * if its west is greater than its east.
 */
export function shapeMatcher(box: Box, passes: (shape: Shape) => boolean): TermMatcher {
  const areas = turnsOf(box)
  let looks = 0
  return {
    prefix: '',
    upTo: undefined,
    spent: () => looks * LOOK_COST,
    matches: (term) => {
      looks += 1
      const own = boxIn(term)
      return areas.some((area) => boxesMeet(area, own)) && passes(shapeIn(term))
    },
  }
}

/** The box in every turn of the globe that a path may continue into. */
function turnsOf({ west, east, south, north }: Box): readonly Box[] {
  const end = west > east ? east + 360 : east
  return [-720, -360, 0, 360, 720].map((degrees) => {
    return { west: west + degrees, east: end + degrees, south, north }
  })
}

function boxOfAll(shape: Shape): Box {
  const sides = (side: keyof Box): readonly number[] => shape.map(({ box }) => box[side])
  return {
    west: Math.min(...sides('west')),
    east: Math.max(...sides('east')),
    south: Math.min(...sides('south')),
    north: Math.max(...sides('north')),
  }
}

function boxIn(term: string): Box {
  const sides: readonly number[] = JSON.parse(term.slice(1, term.indexOf(']') + 1))
  const [west = 0, south = 0, east = 0, north = 0] = sides
  return { west, south, east, north }
}

function shapeIn(term: string): Shape {
  const [, ...parts]: readonly [unknown, ...[ShapePart['kind'], ...number[][]][]] = JSON.parse(term)
  return parts.map(([kind, ...paths]) => partOf(kind, paths.map(pathOf)))
}

function flat(path: Path): readonly number[] {
  return path.flatMap(({ lon, lat }) => [lon, lat])
}

function pathOf(numbers: readonly number[]): Path {
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    lon: must(numbers[2 * i], 'a longitude'),
    lat: must(numbers[2 * i + 1], 'a latitude'),
  }))
}
