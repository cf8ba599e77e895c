import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import {
  nearestTo,
  putVectors,
  removeDocument,
} from '../../../../../support/worlds/vector-documents.ts'
import { VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 4,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f16',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    graphRowsMin: 16,
    settledGraphRowsMin: 16,
    tierCount: 2,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}
const ORIGIN = new Float32Array(4)
const KEYS = 60
const ROUNDS = 400

describe('an index of vectors on disk', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-vectors-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const open = (name: string): VectorWorld => {
    return new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory: path.join(root, name) })
  }

  it('is at a crash, after each step of a flush or a merge, as it was at its checkpoint', () => {
    const random = seededRandom(31)
    using world = open('index')
    const live = new Map<string, number>()
    /** By checkpoint, the keys. */
    const expected = new Map<number, readonly string[]>([[0, []]])
    let images = 0
    for (let sequence = 1; sequence <= ROUNDS; sequence += 1) {
      const n = Math.floor(random() * KEYS)
      const key = `k${n}`
      if (random() < 0.3) {
        world.apply(removeDocument(key))
        live.delete(key)
      } else {
        world.apply(putVectors({ key, ordinal: n, rows: [{ vector: vectorOf(sequence) }] }))
        live.set(key, sequence)
      }
      expected.set(sequence, namesOf(live))
      if (random() < 0.1) void world.engine.makeRoom()
      const isMore = world.engine.maintain()
      if (!isMore && random() < 0.8) continue
      expectCheckpoint(world, expected)
      images += 1
    }

    world.settle()
    expect(namesIn(world)).to.deep.equal(namesOf(live))
    expectCheckpoint(world, expected)
    expect(images).to.be.above(100)
  })

  it('leaves no files of segments that were merged away', () => {
    using world = open('index')
    for (let n = 0; n < 200; n += 1) {
      world.apply(putVectors({ key: `k${n % 50}`, ordinal: n % 50, rows: [{ vector: ORIGIN }] }))
      if (n % 10 === 9) world.flush()
    }
    world.settle()

    const segments = readdirSync(path.join(root, 'index')).filter((name) => name.endsWith('.rows'))

    expect(segments.length).to.be.below(3)
    expect(world.engine.report().documents).to.equal(50)
  })

  const files = (): readonly string[] => readdirSync(path.join(root, 'index'))

  for (const isClosed of [false, true]) {
    const when = isClosed
      ? 'at the next opening if it was closed'
      : 'when the last search has ended'
    it(`removes a segment that was merged away and is being searched ${when}`, () => {
      const world = open('index')
      for (let n = 0; n < 40; n += 1) {
        world.apply(putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector: vectorOf(n) }] }))
        if (n % 20 === 19) world.flush()
      }
      const searched = files().filter((name) => name.endsWith('.vectors'))
      const search: Iterator<unknown> = world.engine.answer(nearestTo(ORIGIN))
      const isEnded = search.next().done
      world.settle()
      const merged = files()

      if (isClosed) world[Symbol.dispose]()
      search.return?.()
      const left = files()
      if (isClosed) open('index')[Symbol.dispose]()
      else world[Symbol.dispose]()

      expect(isEnded).to.equal(false)
      expect(searched).to.have.length(2)
      expect(merged).to.include.members(searched)
      if (isClosed) expect(left).to.deep.equal(merged)
      else expect(left).to.not.include(searched[0])
      expect(searched.filter((name) => files().includes(name))).to.deep.equal([])
    })
  }

  it('removes what a crash left half written', () => {
    const first = open('index')
    first.apply(...Array.from({ length: 30 }, (_, n) => documentOf(n)))
    void first.engine.makeRoom()
    first.engine.maintain()
    cpSync(path.join(root, 'index'), path.join(root, 'image'), { recursive: true })
    first.engine.close()
    const before = readdirSync(path.join(root, 'image'))

    using world = open('image')

    expect(before).to.include('1.vectors')
    expect(readdirSync(path.join(root, 'image'))).to.deep.equal(['manifest'])
    expect(world.engine.checkpoint).to.equal(0)
  })

  it('reads its rows anew while others are read', () => {
    using world = open('index')
    world.apply(...Array.from({ length: 900 }, (_, n) => documentOf(n)))
    world.settle()
    const asked = { limit: 900 }
    const expected = world.keys(ORIGIN, asked)

    expect(world.keys(vectorOf(20), asked)).to.have.members(expected)
    expect(world.keys(ORIGIN, asked)).to.deep.equal(expected)
  })

  /** Opens a copy of what is on disk now. */
  function expectCheckpoint(
    { engine: { checkpoint } }: VectorWorld,
    expected: ReadonlyMap<number, readonly string[]>,
  ): void {
    rmSync(path.join(root, 'image'), { recursive: true, force: true })
    cpSync(path.join(root, 'index'), path.join(root, 'image'), { recursive: true })
    using reopened = open('image')

    expect(reopened.engine.checkpoint).to.equal(checkpoint)
    expect(namesIn(reopened)).to.deep.equal(expected.get(checkpoint))
  }
})

/** A document's key with the first number of its vector: the sequence that wrote it. */
function namesIn(world: VectorWorld): readonly string[] {
  const { hits, total } = world.nearest(ORIGIN, { limit: 1000 })
  expect(total).to.equal(hits.length)
  return hits
    .map(({ key, distance }) => `${Buffer.from(key).toString()} ${Math.sqrt(distance)}`)
    .toSorted()
}

function namesOf(live: ReadonlyMap<string, number>): readonly string[] {
  return [...live].map(([key, sequence]) => `${key} ${sequence}`).toSorted()
}

function vectorOf(first: number): Float32Array {
  return Float32Array.of(first, 0, 0, 0)
}

function documentOf(n: number) {
  return putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector: vectorOf(n) }] })
}
