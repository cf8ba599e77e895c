import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import {
  fuseLists,
  indexScoresOf,
  type FusionOptions,
  type RankedList,
} from '../../../../../node/query/fusion/fuse-lists.ts'
import {
  MERGE_STRATEGIES,
  type MergeStrategy,
} from '../../../../../node/query/request/merge-request.ts'

type Pairs = readonly (readonly [key: string, value: number])[]

function listOf(
  measure: RankedList['measure'],
  pairs: Pairs,
  { name = measure === 'score' ? 'full_text' : 'vec', weight = 1 } = {},
): RankedList {
  const hits = pairs.map(([key, value]) => ({ key: Buffer.from(key), value }))
  return { name, measure, weight, hits }
}

const OPTIONS: FusionOptions = { strategy: 'rrf', rankConstant: 60, windowSize: 10 }

function fused(lists: readonly RankedList[], options: Partial<FusionOptions>) {
  return runAtOnce(fuseLists(lists, { ...OPTIONS, ...options })).map((hit) => {
    return [Buffer.from(hit.key).toString(), hit.score] as const
  })
}

const WORDS: Pairs = [
  ['a', 9],
  ['b', 6],
  ['c', 3],
]
const VECTORS: Pairs = [
  ['c', 0.1],
  ['a', 0.2],
  ['d', 0.5],
]

interface Row {
  readonly lists: readonly RankedList[]
  readonly options: Partial<FusionOptions>
  /** Worked out by hand, in the comment of the row. */
  readonly expected: Pairs
}

const BOTH = [listOf('score', WORDS), listOf('distance', VECTORS)]

const CASES: Record<MergeStrategy, Readonly<Record<string, Row>>> = {
  rrf: {
    // a: 1/61 + 1/62 = 0.032522; c: 1/63 + 1/61 = 0.032266; b: 1/62 = 0.016129; d: 1/63 = 0.015873
    'ranks of two lists': {
      lists: BOTH,
      options: {},
      expected: [
        ['a', 0.032522],
        ['c', 0.032266],
        ['b', 0.016129],
        ['d', 0.015873],
      ],
    },
    // a: 1/61 + 2/62 = 0.048652; c: 1/63 + 2/61 = 0.048660; d: 2/63 = 0.031746; b: 1/62 = 0.016129
    weights: {
      lists: [listOf('score', WORDS), listOf('distance', VECTORS, { weight: 2 })],
      options: {},
      expected: [
        ['c', 0.04866],
        ['a', 0.048652],
        ['d', 0.031746],
        ['b', 0.016129],
      ],
    },
    // a: 1/1 + 1/2 = 1.5; c: 1/3 + 1/1 = 1.333333; b: 1/2; d: 1/3
    'a rank constant of 0': {
      lists: BOTH,
      options: { rankConstant: 0 },
      expected: [
        ['a', 1.5],
        ['c', 1.333333],
        ['b', 0.5],
        ['d', 0.333333],
      ],
    },
    // a alone is in the first rank of words, c of vectors: 1/61 each, and the key decides.
    'a window of one hit': {
      lists: BOTH,
      options: { windowSize: 1 },
      expected: [
        ['a', 0.016393],
        ['c', 0.016393],
      ],
    },
    'one list of vectors': {
      lists: [listOf('distance', VECTORS)],
      options: {},
      expected: [
        ['c', 0.016393],
        ['a', 0.016129],
        ['d', 0.015873],
      ],
    },
    // Three lists; b: 1/62 + 1/61 = 0.032522; a: 1/61 + 1/62; the key decides. c: 1/63 + 1/61; d: 1/63.
    'three lists': {
      lists: [...BOTH, listOf('distance', [['b', 7]], { name: 'other' })],
      options: {},
      expected: [
        ['a', 0.032522],
        ['b', 0.032522],
        ['c', 0.032266],
        ['d', 0.015873],
      ],
    },
    'a weight of 0, which still unites': {
      lists: [listOf('score', WORDS, { weight: 0 }), listOf('distance', [['d', 1]])],
      options: {},
      expected: [
        ['d', 0.016393],
        ['a', 0],
        ['b', 0],
        ['c', 0],
      ],
    },
    nothing: { lists: [listOf('score', []), listOf('distance', [])], options: {}, expected: [] },
  },
  rsf: {
    // Words: 9 → 1, 6 → 0.5, 3 → 0. Distances: 0.1 → 1, 0.2 → 0.75, 0.5 → 0.
    'the nearest gets 1 and the farthest 0': {
      lists: BOTH,
      options: {},
      expected: [
        ['a', 1.75],
        ['c', 1],
        ['b', 0.5],
        ['d', 0],
      ],
    },
    // Words: a 1, b 0. Distances: c 1, a 0. So a: 1; c: 3; b: 0.
    'scales the window alone': {
      lists: [listOf('score', WORDS), listOf('distance', VECTORS, { weight: 3 })],
      options: { windowSize: 2 },
      expected: [
        ['c', 3],
        ['a', 1],
        ['b', 0],
      ],
    },
    // All of one list are alike: each gets 1.
    'a flat list': {
      lists: [
        listOf('score', [
          ['a', 2],
          ['b', 2],
        ]),
        listOf('distance', [['b', 5]], { weight: 0.5 }),
      ],
      options: {},
      expected: [
        ['b', 1.5],
        ['a', 1],
      ],
    },
    // Negated inner products: −4 is nearest. −4 → 1, −1 → 0.4, 1 → 0.
    'distances below zero': {
      lists: [
        listOf('distance', [
          ['a', -4],
          ['b', -1],
          ['c', 1],
        ]),
      ],
      options: {},
      expected: [
        ['a', 1],
        ['b', 0.4],
        ['c', 0],
      ],
    },
    'a distance beyond all scales': {
      lists: [
        listOf('distance', [
          ['a', 1],
          ['b', Infinity],
        ]),
      ],
      options: {},
      expected: [
        ['a', 1],
        ['b', 1],
      ],
    },
  },
  failover: {
    'vectors alone, where there are any': {
      lists: BOTH,
      options: {},
      expected: [
        ['c', 0.016393],
        ['a', 0.016129],
        ['d', 0.015873],
      ],
    },
    'an index of vectors that found nothing has answered': {
      lists: [listOf('score', WORDS), listOf('distance', [])],
      options: {},
      expected: [],
    },
    'words, where no index of vectors answered': {
      lists: [listOf('score', WORDS)],
      options: {},
      expected: [
        ['a', 0.016393],
        ['b', 0.016129],
        ['c', 0.015873],
      ],
    },
  },
}

function build(drawn: { measure: RankedList['measure']; pairs: Pairs; weight: number }[]) {
  return drawn.map((one, i) => {
    const sign = one.measure === 'score' ? -1 : 1
    const ordered = one.pairs.toSorted(([, a], [, b]) => sign * (a - b))
    return listOf(one.measure, ordered, { name: `list ${i}`, weight: one.weight })
  })
}

describe('fuseLists', () => {
  for (const strategy of MERGE_STRATEGIES) {
    for (const [name, { lists, options, expected }] of Object.entries(CASES[strategy])) {
      it(`merges as worked out by hand with ${strategy}: ${name}`, () => {
        const found = fused(lists, { ...options, strategy })

        expect(found.map(([key, score]) => [key, Number(score.toFixed(6))])).to.deep.equal(expected)
      })
    }
  }

  it('gives the best hits of two lists of one weight the same score with rsf, so that the key decides', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        fc.double({ min: 2, max: 9, noNaN: true }),
        (near, far) => {
          const distances: Pairs = [
            ['b', near],
            ['x', far],
          ]
          const words: Pairs = [
            ['a', 7.3],
            ['y', 0.1],
          ]
          const lists = [
            listOf('score', words, { weight: 3 }),
            listOf('distance', distances, { weight: 3 }),
          ]

          const [first, second] = fused(lists, { strategy: 'rsf' })

          expect([first, second]).to.deep.equal([
            ['a', 3],
            ['b', 3],
          ])
        },
      ),
    )
  })

  it('tells the raw value of each index', () => {
    const [first] = runAtOnce(fuseLists(BOTH, OPTIONS))

    expect(first === undefined ? undefined : indexScoresOf(first)).to.deep.equal({
      full_text: 9,
      vec: 0.2,
    })
  })

  const pairs = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1, maxLength: 3 }), fc.nat(20)), {
    selector: ([key]) => Buffer.from(key).toString('latin1'),
    maxLength: 30,
  })
  const anyLists = fc.array(
    fc.record({
      measure: fc.constantFrom('score' as const, 'distance' as const),
      pairs,
      weight: fc.integer({ min: 0, max: 5 }),
    }),
    { maxLength: 4 },
  )
  const anyOptions = fc.record({
    strategy: fc.constantFrom(...MERGE_STRATEGIES),
    rankConstant: fc.nat(100),
    windowSize: fc.integer({ min: 1, max: 40 }),
  })

  it('unites by key, in the order of scores, whatever the lists (FU1, FU2)', () => {
    fc.assert(
      fc.property(anyLists, anyOptions, (drawn, options) => {
        const lists = build(drawn)
        const found = runAtOnce(fuseLists(lists, options))

        const names = found.map(({ key }) => Buffer.from(key).toString('latin1'))
        expect(new Set(names).size).to.equal(names.length)
        for (const [i, hit] of found.entries()) {
          const before = found[i - 1]
          if (before === undefined) continue
          const isOrdered =
            before.score > hit.score ||
            (before.score === hit.score && Buffer.compare(before.key, hit.key) < 0)
          expect(isOrdered).to.equal(true)
        }
        expect(found.every(({ score }) => Number.isFinite(score) && score >= 0)).to.equal(true)
      }),
    )
  })

  it('gives the same result for lists in another order (FU3)', () => {
    fc.assert(
      fc.property(anyLists, anyOptions, (drawn, options) => {
        const lists = build(drawn)
        const scoresOf = (some: readonly RankedList[]) =>
          new Map(
            fused(some, options).map(([key, score]) => [key, Number(score.toFixed(9))] as const),
          )

        const turned = scoresOf(lists.toReversed())

        expect(turned).to.deep.equal(scoresOf(lists))
      }),
    )
  })

  it('never ranks a hit lower that a list ranks higher', () => {
    fc.assert(
      fc.property(pairs, fc.constantFrom('rrf' as const, 'rsf' as const), (drawn, strategy) => {
        const ordered = drawn.toSorted(([, a], [, b]) => b - a)
        const found = fused([listOf('score', ordered)], { strategy, windowSize: 40 })
        const scores = new Map(found)

        for (const [i, [key]] of ordered.entries()) {
          const [before] = ordered[i - 1] ?? []
          if (before === undefined) continue
          expect(scores.get(before) ?? 0).to.be.at.least(scores.get(key) ?? Infinity)
        }
      }),
    )
  })

  it('pauses in proportion to the hits', () => {
    const many: Pairs = Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])
    const work = fuseLists([listOf('distance', many)], { ...OPTIONS, windowSize: 20_000 })
    let pauses = 0
    while (work.next().done !== true) pauses += 1

    expect(pauses).to.be.above(20)
  })
})
