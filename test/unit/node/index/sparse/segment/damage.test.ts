// Damaged files of an index of sparse vectors: they are noticed, and never searched.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import type { SparseVector } from '../../../../../../node/index/vector/vector-search.ts'
import { errorOf } from '../../../../../support/error-of.ts'
import { removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import {
  putSparse,
  SMALL_SPARSE_LIMITS,
  sparse,
  SparseWorld,
  SPARSE_SETTINGS,
} from '../../../../../support/worlds/sparse-world.ts'

const { mergePolicy } = SMALL_SPARSE_LIMITS
const LIMITS = { ...SMALL_SPARSE_LIMITS, mergePolicy: { ...mergePolicy, deletedRatioMax: 0.9 } }
const DOCUMENTS = 700
const TERMS = 300
const FLIPS = 40
const FILES = ['1-1.deleted', '1.postings', '1.rows', 'manifest']

describe('damaged files of an index of sparse vectors', () => {
  let root = ''
  let whole = ''
  const random = seededRandom(5)
  // Every term is asked for, so that all bytes are read.
  const query = sparse(
    Object.fromEntries(Array.from({ length: TERMS + 1 }, (_, term) => [term, 1])),
  )

  before(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-sparse-'))
    whole = path.join(root, 'whole')
    using world = open(whole)
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => {
      const vectors = [sparse({ 0: 1 + n, [1 + (n % TERMS)]: 1 })]
      return putSparse({ key: `k${n}`, ordinal: n, vectors })
    })
    world.apply(...documents)
    world.settle()
    world.apply(removeDocument('k7'))
    world.flush()
  })

  after(() => rmSync(root, { recursive: true, force: true }))

  it('are those of every sort', () => {
    expect(readdirSync(whole).toSorted()).to.deep.equal(FILES)
  })

  for (const name of FILES) {
    it(`are noticed wherever a bit of ${name} is turned`, async () => {
      for (let flip = 0; flip < FLIPS; flip += 1) {
        const copy = damagedCopy(name, (bytes) => {
          const at = Math.floor(random() * bytes.length)
          bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
          return bytes
        })
        expect(await whatIsServed(copy, query), `flip ${flip}`).to.equal('CORRUPTION')
      }
    })

    it(`are noticed where ${name} is cut short or missing`, async () => {
      const cut = damagedCopy(name, (bytes) => bytes.subarray(0, bytes.length - 1))
      expect(await whatIsServed(cut, query)).to.equal('CORRUPTION')
      const missing = damagedCopy(name, (bytes) => bytes)
      rmSync(path.join(missing, name))
      expect(await whatIsServed(missing, query)).to.equal('CORRUPTION')
    })
  }

  it('are those of an index with other settings too', async () => {
    const settings = { ...SPARSE_SETTINGS, minWeight: 1 }

    const refusal = await errorOf(() => new SparseWorld({ settings, directory: whole }))

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

function open(directory: string): SparseWorld {
  return new SparseWorld({
    directory,
    limits: LIMITS,
    settings: { ...SPARSE_SETTINGS, chunkSize: 150 },
  })
}

/** The code of the refusal, at the opening or by a search that reads all postings. */
async function whatIsServed(directory: string, vector: SparseVector): Promise<unknown> {
  const refusal = await errorOf(() => {
    using world = open(directory)
    world.nearest(vector, { limit: DOCUMENTS })
  })
  return Object(refusal).code
}
