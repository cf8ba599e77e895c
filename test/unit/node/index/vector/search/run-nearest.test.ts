import { expect } from 'chai'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import type { DocumentChange } from '../../../../../../node/index/host/document-batch.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { errorOf } from '../../../../../support/error-of.ts'
import { putVectors, removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import { VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 2,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f16',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    graphRowsMin: 8,
    settledGraphRowsMin: 8,
    tierCount: 2,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}
const ORIGIN = new Float32Array(2)

/** On a line, one unit apart: its distance from the origin is n². */
const at = (n: number): Float32Array => Float32Array.of(n, 0)
const point = (n: number, more: { expiresAtMs?: number } = {}): DocumentChange =>
  putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector: at(n) }], ...more })

interface Place {
  readonly sealed: boolean
  readonly engine: DenseIndexSettings['engine']
}

/** As searches meet documents: in memory, compared one by one, and in a graph. */
const PLACES: Readonly<Record<string, Place>> = {
  'in memory': { sealed: false, engine: 'usearch' },
  'in a segment without a graph': { sealed: true, engine: 'exact' },
  'in a graph': { sealed: true, engine: 'usearch' },
}

function worldsAt({ sealed, engine }: Place) {
  return (...changes: readonly DocumentChange[]): VectorWorld => {
    const world = new VectorWorld({ settings: { ...SETTINGS, engine }, limits: LIMITS })
    world.apply(...changes)
    if (sealed) world.settle()
    return world
  }
}

for (const [place, { sealed, engine }] of Object.entries(PLACES)) {
  describe(`the nearest documents ${place}`, () => {
    const worldOf = worldsAt({ sealed, engine })
    const points = Array.from({ length: 200 }, (_, n) => point(n))

    it('come by distance, with what is known of them', () => {
      using world = worldOf(...points)

      const { hits, total } = world.nearest(at(50), { limit: 3 })

      expect(hits.map(({ ordinal, distance }) => [ordinal, distance])).to.deep.equal([
        [50, 0],
        [49, 1],
        [51, 1],
      ])
      expect(hits[0]).to.include({ row: 0, start: 0, end: 0 })
      expect(total).to.equal(200)
    })

    it('come by key where distances are equal', () => {
      const equal = ['b', 'a', 'ab', 'c'].map((key, ordinal) =>
        putVectors({ key, ordinal, rows: [{ vector: at(1) }] }),
      )
      using world = worldOf(...equal, ...points.slice(10))

      expect(world.keys(ORIGIN, { limit: 3 })).to.deep.equal(['a', 'ab', 'b'])
    })

    it('are found by the nearest of their rows, each once', () => {
      const rows = [90, 3, 80].map((n, i) => ({ start: i * 10, end: i * 10 + 9, vector: at(n) }))
      const long = Array.from({ length: 60 }, () => ({ vector: at(4) }))
      using world = worldOf(
        ...points.slice(5),
        putVectors({ key: 'chunks', ordinal: 1000, rows }),
        putVectors({ key: 'long', ordinal: 1001, rows: long }),
      )

      const { hits, total } = world.nearest(ORIGIN, { limit: 4 })

      expect(hits.map(({ ordinal }) => ordinal)).to.deep.equal([1000, 1001, 5, 6])
      expect(hits[0]).to.include({ distance: 9, row: 1, start: 10, end: 19 })
      expect(total).to.equal(197)
    })

    it('are within the distances asked for', () => {
      using world = worldOf(...points)

      const between = world.keys(ORIGIN, { limit: 100, distanceOver: 16, distanceUnder: 49 })
      const far = world.keys(ORIGIN, { limit: 2, distanceOver: 150 ** 2 })

      expect(between).to.deep.equal(['k4', 'k5', 'k6', 'k7'])
      expect(far).to.deep.equal(['k150', 'k151'])
    })

    it('have not expired, and do not count then', () => {
      const times = [0, 100, 200]
      using world = worldOf(...points.map((_, n) => point(n, { expiresAtMs: times[n % 3] ?? 0 })))

      const early = world.nearest(ORIGIN, { limit: 3, nowMs: 99 })
      const later = world.nearest(ORIGIN, { limit: 3, nowMs: 100 })

      expect([early.total, later.total]).to.deep.equal([200, 133])
      expect(later.hits.map(({ ordinal }) => ordinal)).to.deep.equal([0, 2, 3])
    })

    it('are as they were written last', () => {
      using world = worldOf(...points)
      world.apply(
        putVectors({ key: 'k5', ordinal: 5, rows: [{ vector: at(1000) }] }),
        removeDocument('k6'),
        putVectors({ key: 'k7', ordinal: 700, rows: [{ vector: at(5) }] }),
      )

      const { hits, total } = world.nearest(at(6), { limit: 3 })

      expect(hits.map(({ ordinal }) => ordinal)).to.deep.equal([700, 4, 8])
      expect(total).to.equal(199)
    })

    it('are as many as asked for, up to all', () => {
      using world = worldOf(...points)

      expect(world.keys(ORIGIN, { limit: 10_000 })).to.have.length(200)
      expect(world.keys(ORIGIN, { limit: 150, effort: 0 })).to.have.length(150)
      expect(world.keys(ORIGIN, { limit: 1 })).to.deep.equal(['k0'])
    })

    it('are none that cannot be compared', () => {
      using world = worldOf(...points.slice(10))
      world.apply(
        putVectors({ key: 'k10', ordinal: 10, rows: [{ vector: Float32Array.of(1, 2, 3) }] }),
        putVectors({ key: 'nan', ordinal: 1000, rows: [{ vector: Float32Array.of(NaN, 0) }] }),
        { ...point(3), ordinal: 77 },
        putVectors({ key: 'none', ordinal: 1001, rows: [] }),
        { ...point(4), json: Buffer.from('damaged') },
      )

      expect(world.keys(ORIGIN, { limit: 1 })).to.deep.equal(['k11'])
      expect(world.engine.report()).to.deep.include({ documents: 189 })
      expect(world.engine.report().dropped.badValues).to.equal(3)
    })

    it('are refused for a vector of another dimension', async () => {
      using world = worldOf(...points)

      const refusal = await errorOf(() => world.nearest(Float32Array.of(1, 2, 3)))

      expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
      expect(String(refusal)).to.include('vectors of 2 numbers')
    })
  })
}

describe('vectors without a direction', () => {
  it('are not in an index by cosine', () => {
    using world = new VectorWorld({ settings: { ...SETTINGS, metric: 'cosine' } })

    world.apply(putVectors({ key: 'zero', ordinal: 1, rows: [{ vector: ORIGIN }] }), point(2))

    expect(world.keys(at(1))).to.deep.equal(['k2'])
  })
})
