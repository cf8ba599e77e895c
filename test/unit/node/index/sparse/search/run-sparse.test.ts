import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { OrdinalSet } from '../../../../../../node/index/host/ordinal-set.ts'
import type { SparseVector } from '../../../../../../node/index/vector/vector-search.ts'
import { removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import {
  plainProduct,
  putSparse,
  randomSparse,
  SMALL_SPARSE_LIMITS,
  sparse,
  SparseWorld,
  SPARSE_SETTINGS,
  type SparseDocumentGiven,
} from '../../../../../support/worlds/sparse-world.ts'

interface Sought {
  readonly vector: SparseVector
  readonly limit: number
  readonly nowMs: number
  readonly filter: OrdinalSet | undefined
}

/** All documents, compared one by one. */
class Model {
  readonly documents = new Map<string, SparseDocumentGiven>()

  nearest({ vector, limit, nowMs, filter }: Sought) {
    const ordinals = filter?.kind === 'list' ? new Set(filter.ordinals) : undefined
    const live = [...this.documents.values()].filter(({ ordinal, expiresAtMs = 0 }) => {
      const isLive = expiresAtMs === 0 || expiresAtMs > nowMs
      return isLive && (ordinals === undefined || ordinals.has(ordinal))
    })
    const hits = live.flatMap(({ key, vectors }) => {
      const products = vectors.map((one) => plainProduct(vector, one))
      const product = Math.max(...products)
      return product > 0 ? [{ key, product, row: products.indexOf(product) }] : []
    })
    hits.sort((a, b) => b.product - a.product || (a.key < b.key ? -1 : 1))
    return { hits: hits.slice(0, limit), total: live.length }
  }
}

function expectAgreement(world: SparseWorld, model: Model, sought: Sought): void {
  const { hits, total } = world.nearest(sought.vector, sought)
  const found = hits.map(({ key, distance, row }) => {
    return { key: Buffer.from(key).toString(), product: -distance, row }
  })
  expect({ hits: found, total }).to.deep.equal(model.nearest(sought))
}

describe('the nearest sparse vectors', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-sparse-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('are those of a comparison with all, to the last bit, whatever was written, merged and reopened', () => {
    const shapes = fc.record({
      seed: fc.nat(),
      vocabulary: fc.constantFrom(5, 200, 30_000),
      terms: fc.constantFrom(1, 8, 60),
      chunkSize: fc.constantFrom(64, 100, 128, 1024),
      isDurable: fc.boolean(),
    })
    let run = 0
    fc.assert(
      fc.property(shapes, ({ seed, vocabulary, terms, chunkSize, isDurable }) => {
        const random = seededRandom(seed)
        const below = (count: number): number => Math.floor(random() * count)
        run += 1
        const directory = isDurable ? path.join(root, `run-${run}`) : undefined
        const settings = { ...SPARSE_SETTINGS, chunkSize }
        const open = () => new SparseWorld({ settings, directory, limits: SMALL_SPARSE_LIMITS })
        let world = open()
        const model = new Model()
        let ordinal = 0
        for (let step = 0; step < 12; step += 1) {
          const changes = Array.from({ length: 1 + below(400) }, () => {
            const key = `k${below(1500)}`
            if (below(8) === 0) {
              model.documents.delete(key)
              return removeDocument(key)
            }
            const vectors = Array.from({ length: 1 + (below(3) === 0 ? below(3) : 0) }, () =>
              randomSparse(random, { vocabulary, terms }),
            )
            const expiresAtMs = below(10) === 0 ? 1 + below(100) : 0
            const given = { key, ordinal, vectors, expiresAtMs }
            ordinal += 1
            model.documents.set(key, given)
            return putSparse(given)
          })
          world.apply(...changes)
          if (below(2) === 0) world.flush()
          if (below(3) === 0) world.settle()
          if (below(4) === 0 && isDurable) {
            world.flush()
            world.engine.close()
            world = open()
          }
          for (const limit of [1, 10, 300]) {
            const list = Uint32Array.from({ length: below(60) }, () => below(ordinal + 1))
            const ordinals = Uint32Array.from(new Set(list)).toSorted()
            const filter = below(3) === 0 ? ({ kind: 'list', ordinals } as const) : undefined
            const vector = randomSparse(random, { vocabulary, terms: 1 + below(12) })
            expectAgreement(world, model, { vector, limit, nowMs: below(120), filter })
          }
        }
        world.engine.close()
      }),
      { numRuns: 25 },
    )
  })

  it('skip what cannot be among them, and are exact all the same', () => {
    const random = seededRandom(7)
    const model = new Model()
    using world = new SparseWorld({ limits: SMALL_SPARSE_LIMITS })
    for (let n = 0; n < 20_000; n += 1) {
      const given = {
        key: `k${n}`,
        ordinal: n,
        vectors: [randomSparse(random, { vocabulary: 3000, terms: 25 })],
      }
      model.documents.set(given.key, given)
      world.apply(putSparse(given))
    }
    world.settle()
    for (let n = 0; n < 40; n += 1) {
      const vector = randomSparse(random, { vocabulary: 3000, terms: 12 })
      expectAgreement(world, model, { vector, limit: 10, nowMs: 0, filter: undefined })
    }
  })

  it('come by key where products are equal', () => {
    using world = new SparseWorld()
    const keys = ['b', 'a', 'ab', 'c']
    world.apply(
      ...keys.map((key, ordinal) => putSparse({ key, ordinal, vectors: [sparse({ 3: 2 })] })),
    )

    for (const place of ['in memory', 'in a segment']) {
      const found = world.products(sparse({ 3: 0.5 }), { limit: 3 })
      expect(found, place).to.deep.equal([
        ['a', 1],
        ['ab', 1],
        ['b', 1],
      ])
      world.settle()
    }
  })

  it('keep the heaviest terms and those of enough weight, as the index is set', () => {
    const settings = { ...SPARSE_SETTINGS, topK: 2, minWeight: 0.5 }
    using world = new SparseWorld({ settings })
    const vectors = [sparse({ 1: 0.4, 2: 3, 3: 2, 4: 2 })]
    world.apply(
      putSparse({ key: 'a', ordinal: 0, vectors }),
      putSparse({ key: 'light', ordinal: 1, vectors: [sparse({ 2: 0.1 })] }),
    )

    for (const place of ['in memory', 'in a segment']) {
      const query = sparse({ 1: 100, 2: 1, 3: 10, 4: 1000 })
      expect(world.products(query), place).to.deep.equal([['a', 23]])
      expect(world.engine.report().documents, place).to.equal(1)
      world.settle()
    }
  })

  it('are none for terms that no document has', () => {
    using world = new SparseWorld()
    world.apply(putSparse({ key: 'a', ordinal: 0, vectors: [sparse({ 0: 1, 4_294_967_295: 2 })] }))

    for (const place of ['in memory', 'in a segment']) {
      const { hits, total } = world.nearest(sparse({ 5: 1 }))
      expect([hits, total], place).to.deep.equal([[], 1])
      expect(world.products(sparse({ 0: 1, 4_294_967_295: 1 })), place).to.deep.equal([['a', 3]])
      world.settle()
    }
  })

  it('leave out vectors that no index can have', () => {
    using world = new SparseWorld()
    const bad = [-1, NaN, Infinity].map((weight) => ({
      terms: Uint32Array.of(1),
      weights: Float32Array.of(weight),
    }))
    world.apply(
      ...bad.map((vector, ordinal) =>
        putSparse({ key: `k${ordinal}`, ordinal, vectors: [vector] }),
      ),
    )

    expect(world.engine.report().documents).to.equal(0)
    expect(world.engine.report().dropped).to.include({ badValues: 3 })
  })
})
