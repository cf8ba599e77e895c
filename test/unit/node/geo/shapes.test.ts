import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../lib/assert.ts'
import type { JsonObject } from '../../../../node/document/exact-json.ts'
import { parseShape, parseShapes } from '../../../../node/geo/geo-json.ts'
import { distanceMetres } from '../../../../node/geo/geo-area.ts'
import type { Relation } from '../../../../node/geo/shape-relation.ts'
import { relationTest } from '../../../../node/geo/shape-relation.ts'
import { isWithinMetres } from '../../../../node/geo/shape-distance.ts'
import { boxPart, SHAPE_POSITIONS_MAX } from '../../../../node/geo/shape.ts'

type Position = readonly [number, number]

const shapeOf = (value: JsonObject) => must(parseShape(value), `a shape: ${JSON.stringify(value)}`)
const point = (lon: number, lat: number) => ({ type: 'Point', coordinates: [lon, lat] })
const line = (...coordinates: Position[]) => ({ type: 'LineString', coordinates })
const polygon = (...coordinates: Position[][]) => ({ type: 'Polygon', coordinates })
const together = (...geometries: JsonObject[]) => ({ type: 'GeometryCollection', geometries })
const ring = (west: number, south: number, east: number, north: number): Position[] => [
  [west, south],
  [east, south],
  [east, north],
  [west, north],
  [west, south],
]
const square = (west: number, south: number, side: number) =>
  polygon(ring(west, south, west + side, south + side))

/** The globe turned: what stood at Greenwich is then `degrees` to the east. */
function turned(value: unknown, degrees: number): JsonObject {
  const turn = (lon: number): number => ((((lon + degrees + 180) % 360) + 360) % 360) - 180
  const text = JSON.stringify(value, (_, inner: unknown) =>
    Array.isArray(inner) && inner.length === 2 && typeof inner[0] === 'number'
      ? [turn(inner[0]), inner[1]]
      : inner,
  )
  return JSON.parse(text)
}

function related(document: JsonObject, relation: Relation, query: JsonObject): boolean {
  const answers = [0, 100, 180, -175].map((degrees) =>
    relationTest(relation, shapeOf(turned(query, degrees)))(shapeOf(turned(document, degrees))),
  )
  expect(new Set(answers).size, 'the same wherever on the globe').to.equal(1)
  return answers[0] === true
}

const TEN = square(0, 0, 10)
const RING_ROAD = polygon(ring(0, 0, 10, 10), ring(4, 4, 6, 6))

describe('shapes on the globe', () => {
  const rows: readonly [
    name: string,
    a: JsonObject,
    b: JsonObject,
    meets: boolean,
    holds: boolean,
  ][] = [
    ['a point and itself', point(1, 2), point(1, 2), true, true],
    ['two points', point(1, 2), point(1, 2.1), false, false],
    ['a polygon and a point in it', TEN, point(5, 5), true, true],
    ['a polygon and a point of its border', TEN, point(10, 5), true, true],
    ['a polygon and a point beside it', TEN, point(11, 5), false, false],
    ['a polygon and a point in its hole', RING_ROAD, point(5, 5), false, false],
    ['a polygon and a point of its hole’s border', RING_ROAD, point(4, 5), true, true],
    ['a line and a point on it', line([0, 0], [4, 4]), point(1, 1), true, true],
    ['a line and a point beside it', line([0, 0], [4, 4]), point(1, 1.01), false, false],
    ['two lines that cross', line([0, 0], [4, 4]), line([0, 4], [4, 0]), true, false],
    ['two lines apart', line([0, 0], [4, 4]), line([1, 0], [5, 4]), false, false],
    ['two lines that touch', line([0, 0], [4, 4]), line([4, 4], [8, 0]), true, false],
    ['a line and a piece of it', line([0, 0], [2, 2], [4, 4]), line([1, 1], [3, 3]), true, true],
    ['a line and more than it', line([0, 0], [4, 4]), line([1, 1], [5, 5]), true, false],
    ['a polygon and a line in it', TEN, line([1, 1], [9, 9]), true, true],
    ['a polygon and its own border', TEN, line([0, 0], [10, 0], [10, 10]), true, true],
    ['a polygon and a line through it', TEN, line([-5, 5], [15, 5]), true, false],
    ['a polygon and a line over its hole', RING_ROAD, line([1, 5], [9, 5]), true, false],
    ['a polygon and a line round its hole', RING_ROAD, line([4, 4], [4, 6], [6, 6]), true, true],
    ['a polygon and itself', TEN, TEN, true, true],
    ['a polygon and a part of it', TEN, square(2, 2, 3), true, true],
    ['a polygon and a part of it at the border', TEN, square(0, 2, 3), true, true],
    ['a polygon and one that laps over', TEN, square(8, 8, 5), true, false],
    ['a polygon and a neighbour', TEN, square(10, 0, 5), true, false],
    ['a polygon and one far away', TEN, square(50, 0, 5), false, false],
    ['a polygon and one in its hole', RING_ROAD, square(4.5, 4.5, 1), false, false],
    ['a polygon and what fills its hole', RING_ROAD, square(4, 4, 2), true, false],
    ['a polygon and what goes over its hole', RING_ROAD, square(3, 3, 4), true, false],
    ['a polygon with a hole and itself', RING_ROAD, RING_ROAD, true, true],
    ['a polygon and the same with a hole', TEN, RING_ROAD, true, true],
    ['a polygon with a hole and without', RING_ROAD, TEN, true, false],
    [
      'an L and a line across its corner',
      polygon([
        [0, 0],
        [10, 0],
        [10, 5],
        [5, 5],
        [5, 10],
        [0, 10],
        [0, 0],
      ]),
      line([8, 4], [4, 8]),
      true,
      false,
    ],
    ['a point and a polygon', point(5, 5), TEN, true, false],
    ['a collection and what one part holds', together(point(50, 50), TEN), point(5, 5), true, true],
    ['a collection and what none holds', together(point(50, 50), TEN), point(50, 51), false, false],
    [
      'a collection and parts of several',
      together(square(20, 20, 5), TEN),
      {
        type: 'MultiPoint',
        coordinates: [
          [5, 5],
          [21, 21],
        ],
      },
      true,
      true,
    ],
    [
      'several lines and a polygon',
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [50, 50],
            [51, 51],
          ],
          [
            [9, 9],
            [20, 20],
          ],
        ],
      },
      TEN,
      true,
      false,
    ],
  ]

  for (const [name, a, b, meets, holds] of rows) {
    it(`relate ${name}`, () => {
      expect(related(a, 'intersects', b)).to.equal(meets)
      expect(related(b, 'intersects', a)).to.equal(meets)
      expect(related(a, 'contains', b)).to.equal(holds)
      expect(related(b, 'within', a)).to.equal(holds)
    })
  }

  const box = fc
    .tuple(...[0, 0, 1, 1].map((min) => fc.integer({ min, max: 12 })))
    .map(([west = 0, south = 0, width = 1, height = 1]) => ({ west, south, width, height }))
  type AnyBox = typeof box extends fc.Arbitrary<infer Value> ? Value : never
  const ringOf = ({ west, south, width, height }: AnyBox) =>
    polygon(ring(west, south, west + width, south + height))

  it('relate boxes like pairs of intervals', () => {
    fc.assert(
      fc.property(box, box, (a, b) => {
        const overlaps = (from: 'west' | 'south', size: 'width' | 'height') =>
          a[from] <= b[from] + b[size] && b[from] <= a[from] + a[size]
        const holds = (from: 'west' | 'south', size: 'width' | 'height') =>
          a[from] <= b[from] && b[from] + b[size] <= a[from] + a[size]

        expect(related(ringOf(a), 'intersects', ringOf(b))).to.equal(
          overlaps('west', 'width') && overlaps('south', 'height'),
        )
        expect(related(ringOf(a), 'contains', ringOf(b))).to.equal(
          holds('west', 'width') && holds('south', 'height'),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('contain the points between their corners', () => {
    const corner = fc.tuple(fc.integer({ min: -60, max: 60 }), fc.integer({ min: -60, max: 60 }))
    const shares = fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 1, max: 9 })))
    fc.assert(
      fc.property(fc.tuple(corner, corner, corner), shares, ([a, b, c], weights) => {
        const sum = weights.reduce((total, one) => total + one, 0)
        const mean = (axis: 0 | 1): number =>
          [a, b, c].reduce((total, one, i) => total + one[axis] * (weights[i] ?? 0), 0) / sum
        const place = point(mean(0), mean(1))

        expect(related(polygon([a, b, c, a]), 'contains', place)).to.equal(true)
        expect(related(polygon([a, b, c, a]), 'contains', line(a, [mean(0), mean(1)]))).to.equal(
          true,
        )
      }),
      { numRuns: 300 },
    )
  })

  it('accept a box wider than half the globe', () => {
    const wide = [boxPart({ west: -170, east: 170, south: -10, north: 10 })]
    const narrow = [boxPart({ west: 170, east: -170, south: -10, north: 10 })]
    const meets = (query: typeof wide, lon: number) =>
      relationTest('intersects', query)(shapeOf(point(lon, 0)))

    expect([0, 175].map((lon) => meets(wide, lon))).to.deep.equal([true, false])
    expect([0, 175, -175].map((lon) => meets(narrow, lon))).to.deep.equal([false, true, true])
  })
})

describe('the distance to a shape', () => {
  it('is measured to the nearest point, and is zero inside', () => {
    const edge = shapeOf(line([-10, 0], [10, 0]))
    const metres = distanceMetres({ lon: 3, lat: 0 }, { lon: 3, lat: 1 })

    expect(isWithinMetres(edge, { lon: 3, lat: 1 }, metres + 0.01)).to.equal(true)
    expect(isWithinMetres(edge, { lon: 3, lat: 1 }, metres - 0.01)).to.equal(false)
    expect(isWithinMetres(shapeOf(TEN), { lon: 5, lat: 5 }, 0)).to.equal(true)
    expect(isWithinMetres(shapeOf(RING_ROAD), { lon: 5, lat: 5 }, 1000)).to.equal(false)
    expect(isWithinMetres(shapeOf(RING_ROAD), { lon: 5, lat: 5 }, 120_000)).to.equal(true)
    expect(isWithinMetres(shapeOf(point(5, 5)), { lon: 5, lat: 5 }, 0)).to.equal(true)
  })

  it('reaches across the 180th meridian', () => {
    const edge = shapeOf(line([179, 0], [-179, 0]))

    expect(isWithinMetres(edge, { lon: -179.5, lat: 0 }, 1)).to.equal(true)
    expect(isWithinMetres(shapeOf(square(178, -1, 1)), { lon: -179, lat: 0 }, 250_000)).to.equal(
      true,
    )
  })

  it('is found quickly where every point is equally far', () => {
    const around = Array.from({ length: 9 }, (_, i): Position => [((i * 45 + 180) % 360) - 180, 80])
    const metres = distanceMetres({ lon: 0, lat: 90 }, { lon: 0, lat: 80 })

    expect(isWithinMetres(shapeOf(line(...around)), { lon: 0, lat: 90 }, metres - 1)).to.equal(
      false,
    )
    expect(isWithinMetres(shapeOf(line(...around)), { lon: 0, lat: 90 }, metres + 1)).to.equal(true)
  })
})

describe('parseShapes', () => {
  it('reads points in every notation, and lists of shapes', () => {
    const values = [[1, 2], { lat: 2, lon: 1 }, '2,1', point(1, 2)]
    const [first] = parseShapes(point(1, 2))

    for (const value of values) expect(parseShapes(value)).to.deep.equal([first])
    expect(parseShapes(values)).to.deep.equal([first, first, first, first])
  })

  const bad: readonly JsonObject[] = [
    { type: 'Circle', coordinates: [1, 2] },
    { type: 'Point' },
    point(181, 0),
    line([0, 0]),
    polygon([
      [0, 0],
      [1, 1],
    ]),
    { type: 'Polygon', coordinates: [] },
    { type: 'MultiPoint', coordinates: [[0, 0], 'x'] },
    { type: 'GeometryCollection', geometries: [point(0, 0), 5] },
    {
      type: 'MultiPoint',
      coordinates: Array.from({ length: SHAPE_POSITIONS_MAX + 1 }, () => [0, 0]),
    },
  ]
  for (const value of bad) {
    it(`finds no shape in ${JSON.stringify(value).slice(0, 70)}`, () => {
      expect(parseShapes(value)).to.deep.equal([undefined])
    })
  }
})
