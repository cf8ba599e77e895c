import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import type { components, DocumentFilter } from '../../clients/typescript/src/contract/store.v1.ts'
import { InvalidArgumentError, NotFoundError } from '../../clients/typescript/src/errors.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { errorOf } from '../support/error-of.ts'

const BUILT_IN = 'full_text_index_v0'
const SCHEMA = {
  default_type: 'place',
  document_schemas: {
    place: {
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', 'x-service-types': ['text', 'keyword'] },
          area: { type: 'object', 'x-service-types': ['geoshape'] },
          spot: { 'x-service-types': ['geopoint'] },
        },
      },
    },
  },
}

const square = (west: number, south: number, side: number) => ({
  type: 'Polygon' as const,
  coordinates: [
    [
      [west, south],
      [west + side, south],
      [west + side, south + side],
      [west, south + side],
      [west, south],
    ],
  ],
})
const DATELINE = [
  [179, 0],
  [-179, 0],
]
const INSERTS = {
  island: { name: 'Sandy island', area: square(10, 10, 5), spot: [12, 12] },
  lake: { name: 'Lake', area: square(12, 12, 1), spot: { lat: 12.5, lon: 12.5 } },
  river: {
    name: 'River',
    area: {
      type: 'LineString',
      coordinates: [
        [0, 12.5],
        [30, 12.5],
      ],
    },
  },
  strait: { name: 'Strait', area: { type: 'LineString', coordinates: DATELINE } },
  town: { name: 'Town on an island', area: { type: 'Point', coordinates: [14, 14] } },
}

type GeoShapeClause = components['schemas']['GeoShapeClause']
type Shape = GeoShapeClause['geometry']['shape']
type Relation = NonNullable<GeoShapeClause['geometry']['relation']>

/** Indexes that queries choose, wherever the store runs. */
export function describeQueryIndexes(place: StorePlace): void {
  describe(`indexes that queries choose, of ${place.name}`, () => {
    let running: StoreUnderTest
    let store: StoreClient

    before(async () => {
      running = await place.open()
      store = new StoreClient({ baseUrl: running.api })
      await store.createTable('places', { split_keys: ['m'], schema: SCHEMA })
      await store.batchWrite('places', { inserts: INSERTS, sync_level: 'full_text' })
    })

    after(async () => {
      await running[Symbol.asyncDispose]()
    })

    async function found(filter_query: DocumentFilter): Promise<readonly string[]> {
      const { hits } = await store.queryTable('places', { filter_query })
      return hits.hits.map(({ _id }) => _id).toSorted()
    }

    function foundBy(shape: Shape, relation: Relation): Promise<readonly string[]> {
      return found({ geometry: { shape, relation }, field: 'area' })
    }

    async function scanned(filter_query: DocumentFilter): Promise<readonly string[]> {
      const lines = await Array.fromAsync(store.scanTable('places', { filter_query }))
      return lines.map(({ key }) => key)
    }

    it('are found by name, and an unknown name is refused with the list of indexes', async () => {
      const full_text_search = { query: 'name:island' }
      await store.createIndex('places', 'notes', { config: { type: 'full_text' } })

      const chosen = await store.queryTable('places', { full_text_search, indexes: ['notes'] })
      const unknown = await errorOf(() =>
        store.queryTable('places', { full_text_search, indexes: ['nots'] }),
      )

      expect(chosen.hits.total).to.equal(2)
      expect(unknown).to.be.instanceOf(NotFoundError)
      expect(unknown).to.have.property(
        'message',
        `indexes: table "places" has no index "nots"; there are ${BUILT_IN}, notes`,
      )
    })

    it('replace the built-in one where it was dropped', async () => {
      const island = { full_text_search: { query: 'name:island' } }
      await store.dropIndex('places', BUILT_IN)
      const byDefault = await store.queryTable('places', island)
      await store.dropIndex('places', 'notes')
      const none = await errorOf(() => store.queryTable('places', {}))
      const gone = await errorOf(() => store.queryTable('places', { indexes: ['notes'] }))
      await store.createIndex('places', BUILT_IN, { config: { type: 'full_text' } })
      const again = await store.queryTable('places', island)

      expect(byDefault.hits.total).to.equal(2)
      expect(none).to.be.instanceOf(NotFoundError)
      expect(String(none)).to.include('"places" has no full_text index to search; add one')
      expect(gone).to.be.instanceOf(NotFoundError)
      expect(again.hits.total).to.equal(2)
    })

    it('find shapes by their relation to another shape', async () => {
      expect(await foundBy(square(11, 11, 3), 'intersects')).to.deep.equal([
        'island',
        'lake',
        'river',
        'town',
      ])
      expect(await foundBy(square(11, 11, 3), 'within')).to.deep.equal(['lake', 'town'])
      expect(await foundBy({ type: 'Point', coordinates: [12.2, 12.2] }, 'contains')).to.deep.equal(
        ['island', 'lake'],
      )
      expect(await foundBy({ type: 'Point', coordinates: [180, 0] }, 'intersects')).to.deep.equal([
        'strait',
      ])
      expect(
        await foundBy(
          {
            type: 'LineString',
            coordinates: [
              [20, 0],
              [20, 20],
            ],
          },
          'intersects',
        ),
      ).to.deep.equal(['river'])
    })

    it('find shapes by boxes, distances and polygons, and refuse unsupported uses with the reason', async () => {
      const box = { top_left: [178, 5], bottom_right: [-178, -5], field: 'area' }
      const near = { location: [16, 12], distance: '120km', field: 'area' }
      const triangle = {
        polygon_points: [
          [13.5, 13.5],
          [14.5, 13.5],
          [14, 14.5],
        ],
        field: 'area',
      }

      expect(await found(box)).to.deep.equal(['strait'])
      expect(await found(near)).to.deep.equal(['island', 'river'])
      expect(await found(triangle)).to.deep.equal(['island', 'town'])
      const order_by = [{ field: 'area' }]
      const sorted = await errorOf(() => store.queryTable('places', { order_by }))
      expect(sorted).to.be.instanceOf(InvalidArgumentError)
      expect(String(sorted)).to.include(
        'contains shapes and cannot be sorted by; add a field of type',
      )
    })

    it('give the same answers as a scan of the documents', async () => {
      const filters: readonly DocumentFilter[] = [
        { geometry: { shape: square(11, 11, 3), relation: 'within' }, field: 'area' },
        { geometry: { shape: square(11, 11, 3), relation: 'within' }, field: 'spot' },
        { location: [12, 12], distance: '10km', field: 'spot' },
        { top_left: [12.1, 13], bottom_right: [13, 12], field: 'spot' },
        { query: 'spot:*' },
        { match: 'islands island', field: 'name' },
        { match_phrase: 'sandy island', field: 'name' },
        { terms: ['sandy', ['island', 'lake']], field: 'name' },
        { multi_match: { query: 'riv', fields: ['name'], type: 'bool_prefix' } },
      ]

      for (const filter of filters) {
        const ids = await found(filter)
        expect(ids, JSON.stringify(filter)).to.not.deep.equal([])
        expect(await scanned(filter), JSON.stringify(filter)).to.deep.equal(ids)
      }
    })
  })
}
