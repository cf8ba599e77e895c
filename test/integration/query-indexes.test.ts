import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import type { RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'

const PLACES = '/api/v1/tables/places'
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
  type: 'Polygon',
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

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

describe('indexes that queries choose', () => {
  let dataDir: string
  let node: RunningNode

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-query-indexes-'))
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
    await ask({ method: 'POST', path: PLACES, body: { split_keys: ['m'], schema: SCHEMA } })
    const body = { inserts: INSERTS, sync_level: 'full_text' }
    const written = await ask({ method: 'POST', path: `${PLACES}/batch`, body })
    expect(written.status).to.equal(201)
  })

  after(async () => {
    await node.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function ask({ method, path: at, body }: Sent) {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await send(node.apiUrl, { method, path: at, ...text })
    return { status: answer.status, text: answer.body }
  }

  async function query(body: unknown) {
    const { status, text } = await ask({ method: 'POST', path: `${PLACES}/query`, body })
    const value = JSON.parse(text)
    return { status, error: value.error, ...value.responses?.[0] }
  }

  async function found(filter_query: unknown): Promise<readonly string[]> {
    const { hits } = await query({ filter_query })
    const ids: string[] = hits.hits.map((hit: Record<string, string>) => hit['_id'])
    return ids.toSorted()
  }

  function foundBy(shape: unknown, relation: string): Promise<readonly string[]> {
    return found({ geometry: { shape, relation }, field: 'area' })
  }

  async function scanned(filter_query: unknown): Promise<readonly string[]> {
    const sent = { method: 'POST', path: `${PLACES}/lookup`, body: { filter_query } }
    const { text } = await ask(sent)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).key)
  }

  it('are named, and those that are there are told to who names another', async () => {
    const at = `${PLACES}/indexes/notes`
    const created = await ask({ method: 'POST', path: at, body: { type: 'full_text' } })
    const full_text_search = { query: 'name:island' }

    const chosen = await query({ full_text_search, indexes: ['notes'] })
    const unknown = await query({ full_text_search, indexes: ['nots'] })

    expect(created.status).to.equal(201)
    expect(chosen.hits.total).to.equal(2)
    expect(unknown.status).to.equal(404)
    expect(unknown.error).to.equal(
      `indexes: table "places" has no index "nots"; there are ${BUILT_IN}, notes`,
    )
  })

  it('stand in for the built-in one where it was dropped', async () => {
    await ask({ method: 'DELETE', path: `${PLACES}/indexes/${BUILT_IN}` })
    const byDefault = await query({ full_text_search: { query: 'name:island' } })
    await ask({ method: 'DELETE', path: `${PLACES}/indexes/notes` })
    const none = await query({})
    const gone = await query({ indexes: ['notes'] })
    const at = `${PLACES}/indexes/${BUILT_IN}`
    await ask({ method: 'POST', path: at, body: { type: 'full_text' } })
    const again = await query({ full_text_search: { query: 'name:island' } })

    expect(byDefault.hits.total).to.equal(2)
    expect(none.status).to.equal(404)
    expect(none.error).to.include('"places" has no full_text index to search; add one')
    expect(gone.status).to.equal(404)
    expect(again.hits.total).to.equal(2)
  })

  it('find shapes by how they lie to one another', async () => {
    expect(await foundBy(square(11, 11, 3), 'intersects')).to.deep.equal([
      'island',
      'lake',
      'river',
      'town',
    ])
    expect(await foundBy(square(11, 11, 3), 'within')).to.deep.equal(['lake', 'town'])
    expect(await foundBy({ type: 'Point', coordinates: [12.2, 12.2] }, 'contains')).to.deep.equal([
      'island',
      'lake',
    ])
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

  it('find shapes by boxes, distances and polygons, and say what they cannot do with them', async () => {
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
    const sorted = await query({ order_by: [{ field: 'area' }] })
    expect(sorted.status).to.equal(400)
    expect(sorted.error).to.include('holds shapes and cannot be sorted by: add a field of type')
  })

  it('answer as a scan of the documents does', async () => {
    const filters: readonly unknown[] = [
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
