// The directory of an index as the first version of the format wrote it (docs/reference/formats/sparse-segment.md).

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { removeDocument } from '../../../../../support/worlds/vector-documents.ts'
import {
  putSparse,
  SMALL_SPARSE_LIMITS,
  sparse,
  SparseWorld,
  SPARSE_SETTINGS,
} from '../../../../../support/worlds/sparse-world.ts'

const GOLDEN = new URL('../../../../../golden/sparse-index.json', import.meta.url)
const DOCUMENTS = 300
const { mergePolicy } = SMALL_SPARSE_LIMITS
const LIMITS = { ...SMALL_SPARSE_LIMITS, mergePolicy: { ...mergePolicy, deletedRatioMax: 0.9 } }
const SETTINGS = { ...SPARSE_SETTINGS, chunkSize: 200 }

describe('the golden directory of an index of sparse vectors', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-golden-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('is what is written today', () => {
    const directory = path.join(root, 'written')
    {
      using world = new SparseWorld({ settings: SETTINGS, limits: LIMITS, directory })
      world.apply(...Array.from({ length: DOCUMENTS }, (_, n) => documentOf(n)))
      world.settle()
      world.apply(removeDocument('k3'))
      world.flush()
    }
    const golden = readGolden()

    const written = readdirSync(directory).map((name) => {
      return [name, readFileSync(path.join(directory, name)).toString('base64')] as const
    })

    expect(Object.fromEntries(written)).to.deep.equal(golden)
  })

  it('is read, and answers', () => {
    for (const [name, bytes] of Object.entries(readGolden())) {
      mkdirSync(path.join(root, 'golden'), { recursive: true })
      writeFileSync(path.join(root, 'golden', name), Buffer.from(bytes, 'base64'))
    }
    using world = new SparseWorld({
      settings: SETTINGS,
      limits: LIMITS,
      directory: path.join(root, 'golden'),
    })

    const { hits, total } = world.nearest(sparse({ 1: 1, 8: 1 }), { limit: 3, nowMs: 5000 })

    expect(total).to.equal(DOCUMENTS - 2)
    expect(hits.map(({ ordinal, distance }) => [ordinal, distance])).to.deep.equal([
      [299, -149.5],
      [298, -149],
      [297, -148.5],
    ])
    const [first] = world.nearest(sparse({ 8: 1 })).hits
    expect(first).to.include({ ordinal: 1, row: 1, start: 10, end: 19, distance: -1 })
    expect(world.engine.checkpoint).to.equal(2)
  })
})

/** The first document expires; the second has two rows. All share a term, and each has one of its own. */
function documentOf(n: number) {
  const shared = { 1: n / 2, [1000 + n]: 1 }
  const vectors = n === 1 ? [sparse(shared), sparse({ 1: 0.5, 8: 1 })] : [sparse(shared)]
  return putSparse({ key: `k${n}`, ordinal: n, vectors, expiresAtMs: n === 0 ? 1000 : 0 })
}

function readGolden(): Readonly<Record<string, string>> {
  const golden: Readonly<Record<string, string>> = JSON.parse(readFileSync(GOLDEN, 'utf8'))
  return golden
}
