import { expect } from 'chai'
import { must } from '../../../../../../lib/assert.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { parseShape } from '../../../../../../node/geo/geo-json.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import { resolveQuery } from '../../../../../../node/index/text/mapping/resolve-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'
import type { Query } from '../../../../../../node/query/query-tree.ts'

const SCHEMA = { properties: { loc: { 'x-service-types': ['geopoint'] } } }
const MAPPING = new FieldMapping(
  parseTableSchema({ document_schemas: { doc: { schema: SCHEMA } } }, undefined),
)
const geoJson = (value: JsonObject) => must(parseShape(value), 'a shape')
const point = (lon: number, lat: number) => ({ lon, lat })

describe('areas', () => {
  const areas: readonly {
    query: Query
    inside: readonly [number, number][]
    outside: readonly [number, number][]
  }[] = [
    {
      query: {
        kind: 'geo-box',
        field: 'loc',
        topLeft: point(170, 10),
        bottomRight: point(-170, -10),
        boost: 1,
      },
      inside: [
        [180, 0],
        [-175, 5],
      ],
      outside: [
        [0, 0],
        [180, 11],
      ],
    },
    // Paris to London is 344 km.
    {
      query: {
        kind: 'geo-distance',
        field: 'loc',
        centre: point(2.3522, 48.8566),
        metres: 345_000,
        boost: 1,
      },
      inside: [[-0.1276, 51.5072]],
      outside: [[-3, 53]],
    },
    {
      query: {
        kind: 'geo-distance',
        field: 'loc',
        centre: point(179.9, 0),
        metres: 50_000,
        boost: 1,
      },
      inside: [[-179.9, 0]],
      outside: [[-179, 0]],
    },
    {
      query: {
        kind: 'geo-distance',
        field: 'loc',
        centre: point(0, 89.9),
        metres: 50_000,
        boost: 1,
      },
      inside: [[180, 89.9]],
      outside: [[0, 89]],
    },
    {
      query: {
        kind: 'geo-polygon',
        field: 'loc',
        points: [point(170, -10), point(-170, -10), point(-170, 10), point(170, 10)],
        boost: 1,
      },
      inside: [
        [179, 0],
        [-179, 0],
      ],
      outside: [
        [0, 0],
        [160, 0],
      ],
    },
    {
      query: {
        kind: 'geo-shape',
        field: 'loc',
        relation: 'within',
        boost: 1,
        shape: geoJson({
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [10, 0],
              [10, 10],
              [0, 10],
              [0, 0],
            ],
            [
              [4, 4],
              [6, 4],
              [6, 6],
              [4, 6],
              [4, 4],
            ],
          ],
        }),
      },
      inside: [
        [1, 1],
        [9, 5],
      ],
      outside: [
        [5, 5],
        [11, 5],
      ],
    },
    {
      query: {
        kind: 'geo-shape',
        field: 'loc',
        relation: 'contains',
        boost: 1,
        shape: geoJson({ type: 'Point', coordinates: [1, 2] }),
      },
      inside: [[1, 2]],
      outside: [[1, 2.0001]],
    },
  ]
  for (const { query, inside, outside } of areas) {
    it(`tests points for ${JSON.stringify(query).slice(0, 90)}`, () => {
      const area = runAtOnce(resolveQuery(query, MAPPING)).query

      if (area.kind !== 'area') throw new TypeError(`resolved to ${area.kind}`)
      for (const [lon, lat] of inside) {
        const { west, east, south, north } = area.box
        expect(area.contains(lon, lat)).to.equal(true)
        expect(lat).to.be.within(south, north)
        expect(west <= east ? lon >= west && lon <= east : lon >= west || lon <= east).to.equal(
          true,
        )
      }
      for (const [lon, lat] of outside) expect(area.contains(lon, lat)).to.equal(false)
    })
  }
})
