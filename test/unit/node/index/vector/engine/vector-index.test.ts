import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { putVectors } from '../../../../../support/worlds/vector-documents.ts'
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

describe('an index of vectors on disk', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-vectors-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const open = (name: string): VectorWorld => {
    return new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory: path.join(root, name) })
  }

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
})

function vectorOf(first: number): Float32Array {
  return Float32Array.of(first, 0, 0, 0)
}

function documentOf(n: number) {
  return putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector: vectorOf(n) }] })
}
