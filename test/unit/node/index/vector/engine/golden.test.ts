// The directory of an index as the second version of the format wrote it (docs/reference/formats/vector-segment.md).

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { putVectors, removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import { VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const GOLDEN = new URL('../../../../../golden/vector-index.json', import.meta.url)
const SETTINGS: DenseIndexSettings = {
  dimension: 4,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'i8',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    ...defaultRowsIndexLimits.mergePolicy,
    graphRowsMin: 8,
    settledGraphRowsMin: 8,
    deletedRatioMax: 0.9,
  },
}
/** The library decides about the bytes of a graph, and so about its sum in the manifest. */
const OURS = /\.(?:rows|vectors|lists|deleted)$/

describe('the golden directory of an index of vectors', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-golden-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('is what is written today', () => {
    const directory = path.join(root, 'written')
    {
      using world = new VectorWorld({ settings: SETTINGS, limits: LIMITS, directory })
      world.apply(...Array.from({ length: 12 }, (_, n) => documentOf(n)))
      world.settle()
      world.apply(removeDocument('k3'), documentOf(12))
      world.flush()
    }
    const golden = readGolden()

    const written = readdirSync(directory).map((name) => {
      return [name, readFileSync(path.join(directory, name)).toString('base64')] as const
    })

    expect(written.map(([name]) => name)).to.have.members(Object.keys(golden))
    for (const [name, bytes] of written.filter(([file]) => OURS.test(file))) {
      expect(bytes, name).to.equal(golden[name])
    }
  })

  it('is read, and answers', () => {
    for (const [name, bytes] of Object.entries(readGolden())) {
      mkdirSync(path.join(root, 'golden'), { recursive: true })
      writeFileSync(path.join(root, 'golden', name), Buffer.from(bytes, 'base64'))
    }
    using world = new VectorWorld({
      settings: SETTINGS,
      limits: LIMITS,
      directory: path.join(root, 'golden'),
    })

    const { hits, total } = world.nearest(Float32Array.of(3, 0, 0, 1), { limit: 2, nowMs: 5000 })

    expect(total).to.equal(11)
    expect(hits.map(({ ordinal, distance }) => [ordinal, distance])).to.deep.equal([
      [2, 1],
      [4, 1],
    ])
    expect(hits[0]).to.include({ row: 0, start: 2, end: 12 })
    expect(world.engine.checkpoint).to.equal(2)
  })
})

/** The first document expires; the second has two rows. */
function documentOf(n: number) {
  const row = { start: n, end: n + 10, vector: Float32Array.of(n, 0, 0, 1) }
  const rows = n === 1 ? [row, { ...row, vector: Float32Array.of(100, 0, 0, 1) }] : [row]
  return putVectors({ key: `k${n}`, ordinal: n, rows, expiresAtMs: n === 0 ? 1000 : 0 })
}

function readGolden(): Readonly<Record<string, string>> {
  const golden: Readonly<Record<string, string>> = JSON.parse(readFileSync(GOLDEN, 'utf8'))
  return golden
}
