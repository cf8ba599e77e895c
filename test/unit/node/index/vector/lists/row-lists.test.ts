// The lists of a segment: made in memory, written to a file, extended, and searched.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { crc32 } from 'node:zlib'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { BlockMemory } from '../../../../../../node/index/vector/files/block-memory.ts'
import { Kernels } from '../../../../../../node/index/vector/kernels/code-memory.ts'
import {
  buildLists,
  type FormerLists,
} from '../../../../../../node/index/vector/lists/lists-builder.ts'
import { readFormerLists } from '../../../../../../node/index/vector/lists/lists-file.ts'
import { RowLists, type RowTest } from '../../../../../../node/index/vector/lists/row-lists.ts'
import { searchLists, searchRows } from '../../../../../../node/index/vector/lists/search-lists.ts'
import { PLAIN_DISTANCES, Clusters } from '../../../../../support/worlds/vector-world.ts'

const DIMENSION = 24
const ROWS = 3000
const SETTINGS: DenseIndexSettings = {
  dimension: DIMENSION,
  metric: 'cosine',
  engine: 'usearch',
  quantization: 'f16',
}

function testBy(hasRow: (row: number) => boolean): RowTest {
  return {
    gather(rows, { from, to }, places) {
      let count = 0
      for (let place = from; place < to; place += 1) {
        if (!hasRow(rows[place] ?? 0)) continue
        places[count] = place
        count += 1
      }
      return count
    },
  }
}

const isThird = (row: number): boolean => row % 3 === 0

describe('the lists of a segment', () => {
  let root = ''
  const kernels = new Kernels()
  const clusters = new Clusters(seededRandom(3), { dimension: DIMENSION, count: 20, spread: 0.5 })
  const vectors = Array.from({ length: ROWS }, (_, row) => clusters.vector(row))
  const query = clusters.vector(7)

  before(() => (root = mkdtempSync(path.join(tmpdir(), 'quarry-lists-'))))
  after(() => rmSync(root, { recursive: true, force: true }))

  function rowOf(row: number) {
    return { vectors: vectors[row] ?? query, at: 0 }
  }

  function planOf(rowCount: number, former?: FormerLists) {
    return { settings: SETTINGS, source: { rowCount, row: rowOf }, former, kernels }
  }

  function fileOf(rowCount: number, former?: FormerLists) {
    const parts: Uint8Array[] = []
    runAtOnce(
      buildLists(planOf(rowCount, former), function* keep(bytes) {
        parts.push(Uint8Array.from(bytes))
        yield
      }),
    )
    const bytes = Buffer.concat(parts)
    const file = path.join(root, `${rowCount}-${former === undefined ? 'new' : 'grown'}`)
    writeFileSync(file, bytes)
    return { file, expected: { bytes: bytes.length, sum: crc32(bytes) } }
  }

  function open({ file, expected }: ReturnType<typeof fileOf>, memoryBytes: number): RowLists {
    const memory = new BlockMemory(memoryBytes)
    return runAtOnce(RowLists.open({ path: file, name: 'tested', memory, kernels }, expected))
  }

  function askedOf(lists: RowLists, patience = { rows: 10_000, lists: 1000 }) {
    return { query: lists.queryOf(SETTINGS, query), rescored: 60, limit: 10, patience }
  }

  function found(lists: RowLists, hasRow: (row: number) => boolean): readonly number[] {
    return [...runAtOnce(searchLists(lists, askedOf(lists), testBy(hasRow))).rows]
  }

  /** The nearest rows that pass, by their numbers as they were given. */
  function nearest(hasRow: (row: number) => boolean): readonly number[] {
    const distances = vectors.map((vector) => PLAIN_DISTANCES.cosine(query, vector))
    return [...vectors.keys()]
      .filter(hasRow)
      .toSorted((a, b) => (distances[a] ?? 0) - (distances[b] ?? 0))
      .slice(0, 10)
  }

  it('have each row once', () => {
    const lists = runAtOnce(RowLists.build(planOf(ROWS)))
    const seen: number[] = []

    found(lists, (row) => seen.push(row) < 0)

    expect(seen.toSorted((a, b) => a - b)).to.deep.equal([...vectors.keys()])
  })

  const filters: Readonly<Record<string, (row: number) => boolean>> = {
    'all rows': () => true,
    'every third row': isThird,
    'rows far from the query': (row) => row % 20 !== 7,
    'few rows': (row) => row % 500 === 1,
    'no row': () => false,
  }
  for (const [name, hasRow] of Object.entries(filters)) {
    it(`find the nearest of ${name}, in memory, in a file and in an extended one`, () => {
      const half = fileOf(ROWS / 2)
      const opened = [
        runAtOnce(RowLists.build(planOf(ROWS))),
        open(fileOf(ROWS), 2 ** 30),
        open(fileOf(ROWS), 0),
        open(fileOf(ROWS, readFormerLists(half.file)), 0),
      ]

      expect(opened.map(({ isResident }) => isResident)).to.deep.equal([true, true, false, false])
      for (const lists of opened) {
        expect(found(lists, hasRow)).to.include.members([...nearest(hasRow)])
        lists.close()
      }
    })
  }

  it('find the nearest of some rows that are known', () => {
    const lists = runAtOnce(RowLists.build(planOf(ROWS)))
    const rows = Uint32Array.from(vectors.keys()).filter((row) => row % 2 === 1)

    const { rows: ofSome, isAll } = runAtOnce(searchRows(lists, askedOf(lists), rows))

    expect([...ofSome]).to.include.members([...nearest((row) => row % 2 === 1)])
    expect(isAll).to.equal(false)
  })

  it('are left when some in a row had nothing nearer', () => {
    const lists = runAtOnce(RowLists.build(planOf(ROWS)))
    let looked = 0
    const passing = testBy(() => (looked += 1) > 0)

    runAtOnce(searchLists(lists, askedOf(lists, { rows: 100, lists: 2 }), passing))

    expect(looked).to.be.lessThan(ROWS / 2)
  })

  it('come into memory when others have given theirs back', () => {
    const memory = new BlockMemory(150_000)
    const { file, expected } = fileOf(ROWS)
    const [first, second] = Array.from({ length: 2 }, () => {
      return runAtOnce(RowLists.open({ path: file, name: 'l', memory, kernels }, expected))
    })
    if (first === undefined || second === undefined) throw new TypeError('two lists')
    const before = found(second, isThird)
    runAtOnce(second.load())
    const isFullStill = second.isResident

    first.close()
    const reading = second.load()
    reading.next()
    const meanwhile = found(second, isThird)
    runAtOnce(reading)

    expect([isFullStill, second.isResident]).to.deep.equal([false, true])
    expect([meanwhile, found(second, isThird)]).to.deep.equal([before, before])
    second.close()
    expect(memory.bytes).to.equal(0)
  })

  it('give their memory back', () => {
    const memory = new BlockMemory(2 ** 30)
    const { file, expected } = fileOf(ROWS)
    const lists = runAtOnce(RowLists.open({ path: file, name: 'l', memory, kernels }, expected))
    const reserved = memory.bytes

    lists.close()

    expect(reserved).to.be.greaterThan(ROWS * DIMENSION)
    expect(memory.bytes).to.equal(0)
  })
})
