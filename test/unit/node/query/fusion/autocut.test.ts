import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { seededRandom } from '../../../../../lib/random.ts'
import { countBeforeJump } from '../../../../../node/query/fusion/autocut.ts'
import { cutList } from '../../../../../node/query/fusion/cut-list.ts'
import { AUTOCUT_MAX } from '../../../../../node/query/request/threshold-request.ts'
import { endOf } from '../../../../support/models/vector-documents.ts'

const CASES: Readonly<
  Record<string, { values: readonly number[]; jumps: number; expected: number }>
> = {
  'one good distance before noise': {
    values: [0.31, 0.74, 0.75, 0.77, 0.78, 0.8],
    jumps: 1,
    expected: 1,
  },
  'three good scores before noise': {
    values: [9, 8.6, 8.1, 2, 1.9, 1.8, 1.7, 1.5],
    jumps: 1,
    expected: 3,
  },
  // 0 to 100 is a jump from (10.3 + 9.3 + 0.3 + 0.2 + 0.1) / 6 = 3.4; 101 to 110 from 0.15; 100 to 101 is none from 2.
  'the second of two jumps': {
    values: [0, 100, 101, 110, 110.1, 110.2, 110.3],
    jumps: 2,
    expected: 3,
  },
  'no jump': { values: [5, 4, 3, 2, 1, 0], jumps: 1, expected: 6 },
  'fewer jumps than asked for': { values: [9, 2, 1.9, 1.8, 1.7], jumps: 2, expected: 5 },
  'equal values': { values: [1, 1, 1, 1, 1], jumps: 1, expected: 5 },
  'too few hits behind': { values: [9, 2, 1], jumps: 1, expected: 3 },
  'products below zero': { values: [3, -5, -5.1, -5.2, -5.3], jumps: 1, expected: 1 },
  'no hits': { values: [], jumps: 1, expected: 0 },
  'a distance beyond all numbers': {
    values: [1, 2, 3, 4, Infinity],
    jumps: 1,
    expected: 5,
  },
}

const FILE = 'node/query/fusion/autocut.ts'
const DEFECTS: Readonly<Record<string, { readonly text: string; readonly instead: string }>> = {
  'a step that equals three spreads': { text: 'behind > SPREADS', instead: 'behind >= SPREADS' },
  'one hit too few behind': { text: 'at + BEHIND_MIN <', instead: 'at + BEHIND_MIN <=' },
  'an end behind the jump': { text: 'return at + 1', instead: 'return at + 2' },
  'a spread that counts the hit itself': {
    text: 'values.length - 1 - at',
    instead: 'values.length - at',
  },
  'a spread around the next hit': { text: 'values.at(-1)', instead: 'values.at(-2)' },
  'a jump of one that counts': { text: 'found === jumps', instead: 'found > 0' },
}

/** The function, with one line of it changed. The file imports nothing, so that a copy of it runs anywhere. */
async function withDefect(text: string, instead: string): Promise<typeof countBeforeJump> {
  const source = await readFile(FILE, 'utf8')
  expect(source.split(text)).to.have.length(2)
  const folder = await mkdtemp(path.join(tmpdir(), 'quarry-autocut-'))
  try {
    const copy = path.join(folder, 'autocut.ts')
    await writeFile(copy, source.replace(text, instead))
    const loaded: { countBeforeJump: typeof countBeforeJump } = await import(copy)
    return loaded.countBeforeJump
  } finally {
    await rm(folder, { recursive: true })
  }
}

const anyOf = (max: number) => fc.array(fc.integer({ min: -max, max }), { maxLength: 60 })

describe('a list that ends by itself', () => {
  for (const [name, { values, jumps, expected }] of Object.entries(CASES)) {
    it(`ends as worked out by hand: ${name}`, () => {
      expect(countBeforeJump(values, jumps)).to.equal(expected)
    })
  }

  // Of such numbers all sums are exact, so that the order of adding does not matter.
  const mixed = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -5000, max: 5000 }))
  const values = fc
    .oneof(anyOf(2), anyOf(20), fc.array(mixed, { maxLength: 60 }))
    .map((all) => all.toSorted((a, b) => b - a))

  it('ends where a plain reading of the contract ends it, whether values rise or fall', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: AUTOCUT_MAX }), (falling, jumps) => {
        const rising = falling.map((value) => -value)
        const expected = endOf(falling, jumps)

        expect(countBeforeJump(falling, jumps)).to.equal(expected)
        expect(countBeforeJump(rising, jumps)).to.equal(expected)
      }),
      { numRuns: 2000 },
    )
  })

  for (const [what, { text, instead }] of Object.entries(DEFECTS)) {
    it(`shows by such lists ${what}`, async () => {
      const defective = await withDefect(text, instead)
      const isWrong = fc.check(
        fc.property(values, fc.integer({ min: 1, max: AUTOCUT_MAX }), (falling, jumps) => {
          return defective(falling, jumps) === endOf(falling, jumps)
        }),
        { numRuns: 2000 },
      ).failed

      expect(isWrong).to.equal(true)
    })
  }

  it('ends no earlier for a later jump, and wherever the values begin and whatever their unit is', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 9 }), (falling, jumps) => {
        const end = countBeforeJump(falling, jumps)

        expect(countBeforeJump(falling, jumps + 1)).to.be.at.least(end)
        const moved = falling.map((value) => 8 * value + 1024)
        expect(countBeforeJump(moved, jumps)).to.equal(end)
      }),
    )
  })

  it('hardly ever cuts the best of a window of documents that are all alike', () => {
    const random = seededRandom(7)
    let cut = 0
    for (let round = 0; round < 400; round++) {
      const noise = Array.from({ length: 2000 }, () => -Math.log(1 - random()))
      const window = noise.toSorted((a, b) => b - a).slice(0, 50)
      if (countBeforeJump(window, 1) === 1) cut += 1
    }

    expect(cut).to.be.within(1, 40) // e⁻³ of 400 is 20
  })

  it('looks at what the least score has left', () => {
    const hits = [9, 8, 3, 2.9, 2.8, 2.7, 0.1].map((value) => ({ value }))
    const valuesOf = (threshold: Parameters<typeof cutList>[1]) =>
      cutList(hits, threshold).map(({ value }) => value)

    expect(valuesOf({ minScore: undefined, autocut: undefined })).to.have.length(7)
    expect(valuesOf({ minScore: 2.8, autocut: undefined })).to.deep.equal([9, 8, 3, 2.9, 2.8])
    expect(valuesOf({ minScore: 2.9, autocut: 1 })).to.deep.equal([9, 8, 3, 2.9])
    expect(valuesOf({ minScore: 2.7, autocut: 1 })).to.deep.equal([9, 8])
    expect(valuesOf({ minScore: 10, autocut: 1 })).to.deep.equal([])
  })
})
