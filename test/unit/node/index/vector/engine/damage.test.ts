// Damaged files of an index of vectors: they are noticed, and never searched. A damaged graph that reaches its
// library would end this process.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom, type Random } from '../../../../../../lib/random.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { errorOf } from '../../../../../support/error-of.ts'
import { putVectors, removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import { VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 8,
  metric: 'cosine',
  engine: 'usearch',
  quantization: 'i8',
}
const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    graphRowsMin: 8,
    settledGraphRowsMin: 8,
    tierCount: 9,
    listedRowsMin: 10_000,
    rowsMax: 100_000,
    deletedRatioMax: 0.9,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}
const DOCUMENTS = 300
const FLIPS = 40

describe('damaged files of an index of vectors', () => {
  let root = ''
  let whole = ''
  const random = seededRandom(5)
  const vectors = Array.from({ length: DOCUMENTS }, () =>
    Float32Array.from({ length: SETTINGS.dimension }, () => random() - 0.5),
  )

  const query = new Float32Array(SETTINGS.dimension).fill(1)

  before(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-vectors-'))
    whole = path.join(root, 'whole')
    using world = open(whole)
    world.apply(...vectors.map((vector, n) => documentOf(n, vector)))
    world.settle()
    world.apply(removeDocument('k7'))
    world.flush()
  })

  after(() => rmSync(root, { recursive: true, force: true }))

  it('are those of every sort', () => {
    expect(readdirSync(whole).toSorted()).to.deep.equal([
      '2-1.deleted',
      '2.graph',
      '2.lists',
      '2.rows',
      '2.vectors',
      'manifest',
    ])
  })

  for (const name of ['2-1.deleted', '2.graph', '2.lists', '2.rows', '2.vectors', 'manifest']) {
    it(`are noticed wherever a bit of ${name} is turned`, async () => {
      for (let flip = 0; flip < FLIPS; flip += 1) {
        const copy = damagedCopy(name, (bytes) => turnBit(bytes, random))
        expect(await whatIsServed(copy, query), `flip ${flip}`).to.equal('CORRUPTION')
      }
    })

    it(`are noticed where ${name} is cut short or missing`, async () => {
      const cut = damagedCopy(name, (bytes) => bytes.subarray(0, bytes.length - 1))
      const empty = damagedCopy(name, () => new Uint8Array(0))
      const missing = damagedCopy(name, (bytes) => bytes)
      rmSync(path.join(missing, name))

      expect(await whatIsServed(cut, query)).to.equal('CORRUPTION')
      expect(await whatIsServed(empty, query)).to.equal('CORRUPTION')
      expect(await whatIsServed(missing, query)).to.equal('CORRUPTION')
    })
  }

  it('are those of an index with other settings too', async () => {
    const refusal = await errorOf(() => {
      return new VectorWorld({ settings: { ...SETTINGS, metric: 'l2_squared' }, directory: whole })
    })

    expect(refusal).to.include({ code: 'CORRUPTION' })
  })

  function damagedCopy(name: string, damage: (bytes: Uint8Array) => Uint8Array): string {
    const copy = path.join(root, 'copy')
    rmSync(copy, { recursive: true, force: true })
    cpSync(whole, copy, { recursive: true })
    writeFileSync(path.join(copy, name), damage(readFileSync(path.join(copy, name))))
    return copy
  }
})

function open(directory: string): VectorWorld {
  return new VectorWorld({ settings: SETTINGS, directory, limits: LIMITS })
}

/** The code of the refusal, at the opening or by a search that reads every vector. */
async function whatIsServed(directory: string, vector: Float32Array): Promise<unknown> {
  const refusal = await errorOf(() => {
    using world = open(directory)
    world.nearest(vector, { limit: DOCUMENTS })
  })
  return Object(refusal).code
}

function documentOf(n: number, vector: Float32Array) {
  return putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector }] })
}

function turnBit(bytes: Uint8Array, random: Random): Uint8Array {
  const at = Math.floor(random() * bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  return bytes
}
