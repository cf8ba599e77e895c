import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { HeldGraphs } from '../../../../../support/fakes/held-graphs.ts'
import { putVectors, removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import {
  Clusters,
  PLAIN_DISTANCES,
  VectorWorld,
} from '../../../../../support/worlds/vector-world.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 16,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f16',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    ...defaultRowsIndexLimits.mergePolicy,
    graphRowsMin: 512,
    settledGraphRowsMin: 512,
    tierCount: 4,
    listedRowsMin: 1024,
  },
}
const FLUSHES = 40
const DOCUMENTS_PER_FLUSH = 128
const KEYS = 3000
const LIMIT = 10
const QUERIES = 30

describe('an index of vectors whose graphs are not made in time', () => {
  const random = seededRandom(23)
  const clusters = new Clusters(random, { dimension: 16, count: 20, spread: 0.5 })
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-tiers-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('has few segments all the same, with lists, and finds what is near', async () => {
    const graphs = new HeldGraphs()
    const live = new Map<string, Float32Array>()
    using world = open('index', graphs)
    for (let flush = 0; flush < FLUSHES; flush += 1) {
      write(world, live)
      world.settle()
      expect(endings(/\.rows$/)).to.be.at.most(1 + 4 + 3 * 4)
    }
    const listed = endings(/\.lists$/)
    const before = recall(world, live)

    expect(graphs.count).to.equal(1)
    expect(listed).to.be.at.least(1)
    expect(endings(/\.graph$/)).to.equal(0)
    expect(before).to.be.at.least(0.95)
    expectAll(world, live)

    while (graphs.count > 0) {
      graphs.release()
      await turn()
      while (world.engine.maintain());
    }
    expect(endings(/\.graph$/)).to.be.at.least(1)
    expect(endings(/\.rows$/)).to.be.at.most(2)
    expect(recall(world, live)).to.be.at.least(0.95)
    expectAll(world, live)
  })

  it('has at a crash what it had at its checkpoint, whichever merges were under way', async () => {
    const graphs = new HeldGraphs()
    const live = new Map<string, Float32Array>()
    using world = open('index', graphs)
    let expected = new Set<string>()
    for (let flush = 0; flush < FLUSHES; flush += 1) {
      write(world, live)
      world.flush()
      expected = new Set(live.keys())
      for (let step = 0; world.engine.maintain(); step += 1) {
        if (random() < 0.02) expectImage(expected)
      }
      if (random() < 0.2) graphs.release()
      await turn()
      expectImage(expected)
    }
    expectAll(world, live)
  })

  function open(name: string, builder: HeldGraphs): VectorWorld {
    const directory = path.join(root, name)
    return new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory, builder })
  }

  /** New documents, others in place of old ones, and some deletions. */
  function write(world: VectorWorld, live: Map<string, Float32Array>): void {
    for (let i = 0; i < DOCUMENTS_PER_FLUSH; i += 1) {
      const n = Math.floor(random() * KEYS)
      const key = `k${n}`
      if (random() < 0.1) {
        world.apply(removeDocument(key))
        live.delete(key)
        continue
      }
      const vector = clusters.vector(n)
      world.apply(putVectors({ key, ordinal: n, rows: [{ vector }] }))
      live.set(key, vector)
    }
  }

  function endings(pattern: RegExp): number {
    return readdirSync(path.join(root, 'index')).filter((name) => pattern.test(name)).length
  }

  function recall(world: VectorWorld, live: ReadonlyMap<string, Float32Array>): number {
    let found = 0
    for (let i = 0; i < QUERIES; i += 1) {
      const query = clusters.vector(i)
      const distanceOf = (vector: Float32Array): number => PLAIN_DISTANCES.l2_squared(query, vector)
      const nearest = [...live]
        .map(([key, vector]) => ({ key, distance: distanceOf(vector) }))
        .toSorted((a, b) => a.distance - b.distance)
        .slice(0, LIMIT)
      const keys = new Set(world.keys(query, { limit: LIMIT }))
      found += nearest.filter(({ key }) => keys.has(key)).length
    }
    return found / (QUERIES * LIMIT)
  }

  function expectAll(world: VectorWorld, live: ReadonlyMap<string, Float32Array>): void {
    const keys = world.keys(clusters.vector(0), { limit: KEYS })
    expect(keys).to.have.members([...live.keys()])
  }

  function expectImage(keys: ReadonlySet<string>): void {
    rmSync(path.join(root, 'image'), { recursive: true, force: true })
    cpSync(path.join(root, 'index'), path.join(root, 'image'), { recursive: true })
    using image = open('image', new HeldGraphs())
    expect(image.keys(clusters.vector(0), { limit: KEYS })).to.have.members([...keys])
  }
})
