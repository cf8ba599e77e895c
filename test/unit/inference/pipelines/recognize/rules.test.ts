import { expect } from 'chai'
import * as fc from 'fast-check'
import { groupEntities } from '../../../../../inference/pipelines/recognize/entity-grouping.ts'
import {
  decodeSpans,
  decodeTokenSpans,
} from '../../../../../inference/pipelines/recognize/gliner-decoding.ts'
import { parseTriplets } from '../../../../../inference/pipelines/recognize/rebel-parser.ts'
import { selectSpans } from '../../../../../inference/pipelines/recognize/span-selection.ts'
import type {
  SelectionRules,
  SpanCandidate,
} from '../../../../../inference/pipelines/recognize/span-selection.ts'
import { buildWordWindows } from '../../../../../inference/pipelines/recognize/word-windows.ts'

describe('grouping of labelled words', () => {
  const cases: Record<string, readonly string[]> = {
    'O B-PER I-PER O': ['PER 1-2'],
    'B-PER B-PER': ['PER 0-0', 'PER 1-1'],
    'B-PER I-ORG': ['PER 0-0', 'ORG 1-1'],
    'I-PER I-PER': ['PER 0-1'],
    'B-PER O I-PER': ['PER 0-0', 'PER 2-2'],
    'B-LOC I-LOC E-LOC I-LOC': ['LOC 0-2', 'LOC 3-3'],
    'S-LOC S-LOC I-LOC': ['LOC 0-0', 'LOC 1-1', 'LOC 2-2'],
    'U-LOC B-LOC L-LOC': ['LOC 0-0', 'LOC 1-2'],
    'PER PER ORG': ['PER 0-1', 'ORG 2-2'],
    'B-Person I-Person': ['PER 0-1'],
    'B-ORGANIZATION B-LOCATION B-MISCELLANEOUS': ['ORG 0-0', 'LOC 1-1', 'MISC 2-2'],
    'B-drug o': ['drug 0-0'],
  }
  for (const [labels, expected] of Object.entries(cases)) {
    it(`reads ${labels}`, () => {
      const words = labels
        .split(' ')
        .map((label, index) => ({ start: 2 * index, end: 2 * index + 1, label, score: 1 }))
      const text = 'x '.repeat(words.length)
      const found = groupEntities(text, words).map(
        ({ label, start, end }) => `${label} ${start / 2}-${(end - 1) / 2}`,
      )
      expect(found).to.deep.equal(expected)
    })
  }

  it('scores an entity by the mean of its words', () => {
    const words = [
      { start: 0, end: 1, label: 'B-PER', score: 0.5 },
      { start: 2, end: 3, label: 'I-PER', score: 1 },
    ]
    expect(groupEntities('a b', words)).to.deep.equal([
      { text: 'a b', label: 'PER', start: 0, end: 3, score: 0.75 },
    ])
  })
})

function span(firstWord: number, lastWord: number, label: number, score: number): SpanCandidate {
  return { firstWord, lastWord, label, score }
}

function place(left: SpanCandidate, right: SpanCandidate): number {
  return (
    left.firstWord - right.firstWord || left.lastWord - right.lastWord || left.label - right.label
  )
}

describe('selection of spans', () => {
  const flat: SelectionRules = { flat: true, multiLabel: false }
  const cases: [string, SelectionRules, SpanCandidate[], SpanCandidate[]][] = [
    [
      'equal spans: the better label',
      flat,
      [span(0, 1, 0, 0.6), span(0, 1, 1, 0.9)],
      [span(0, 1, 1, 0.9)],
    ],
    [
      'equal spans: both labels, if allowed',
      { flat: true, multiLabel: true },
      [span(0, 1, 0, 0.6), span(0, 1, 1, 0.9)],
      [span(0, 1, 0, 0.6), span(0, 1, 1, 0.9)],
    ],
    [
      'touching spans: both',
      flat,
      [span(2, 3, 0, 0.6), span(0, 1, 0, 0.9)],
      [span(0, 1, 0, 0.9), span(2, 3, 0, 0.6)],
    ],
    [
      'ties: the one that starts first',
      flat,
      [span(1, 2, 0, 0.7), span(0, 1, 0, 0.7)],
      [span(0, 1, 0, 0.7)],
    ],
    [
      'nested spans: both, if allowed',
      { flat: false, multiLabel: false },
      [span(0, 3, 0, 0.6), span(1, 2, 0, 0.9)],
      [span(0, 3, 0, 0.6), span(1, 2, 0, 0.9)],
    ],
    [
      'crossing spans: never both',
      { flat: false, multiLabel: true },
      [span(0, 2, 0, 0.6), span(1, 3, 0, 0.9)],
      [span(1, 3, 0, 0.9)],
    ],
  ]
  for (const [name, rules, given, expected] of cases) {
    it(`of ${name}`, () => {
      expect(selectSpans(given, rules)).to.deep.equal(expected)
    })
  }

  it('equals a comparison of each span with all kept ones', () => {
    const candidates = fc
      .array(fc.tuple(fc.nat(8), fc.nat(4), fc.nat(2), fc.integer({ min: 1, max: 9 })), {
        maxLength: 25,
      })
      .map((rows) =>
        rows.map(([at, width, label, score]) => span(at, at + width, label, score / 10)),
      )
    fc.assert(
      fc.property(candidates, fc.boolean(), fc.boolean(), (spans, isFlat, multiLabel) => {
        const kept: SpanCandidate[] = []
        for (const one of spans.toSorted((a, b) => b.score - a.score || place(a, b))) {
          const clash = kept.some((other) => {
            const isEqual = one.firstWord === other.firstWord && one.lastWord === other.lastWord
            if (isEqual) return !multiLabel
            if (one.firstWord > other.lastWord || other.firstWord > one.lastWord) return false
            const nested =
              (one.firstWord <= other.firstWord && one.lastWord >= other.lastWord) ||
              (other.firstWord <= one.firstWord && other.lastWord >= one.lastWord)
            return isFlat || !nested
          })
          if (!clash) kept.push(one)
        }
        const selected = selectSpans(spans, { flat: isFlat, multiLabel })
        expect(selected).to.deep.equal(kept.toSorted(place))
      }),
    )
  })
})

describe('decoding of spans', () => {
  it('keeps what lies above the threshold and within the words', () => {
    // Two words of three, two widths, one label; 0 is a probability of exactly a half.
    const values = Float32Array.of(0, 2, 2, 2, 9, 9)

    const found = decodeSpans({ dims: [3, 2, 1], values }, 2, 0.5)

    expect(found.map(({ firstWord, lastWord }) => [firstWord, lastWord])).to.deep.equal([
      [0, 1],
      [1, 1],
    ])
  })

  it('scores a span by the least likely of begin, end and inside', () => {
    const rows = [
      [2, -9, 2],
      [-9, 1, 2],
      [-9, 2, -1],
    ]
    const found = decodeTokenSpans(
      { dims: [3, 1, 3], values: Float32Array.from(rows.flat()) },
      3,
      0.5,
    )

    expect(found).to.have.length(1)
    expect(found[0]).to.deep.include({ firstWord: 0, lastWord: 1, label: 0 })
    expect(found[0]!.score).to.be.closeTo(0.7311, 1e-4)
  })

  it('bounds the cost of a graph that finds every span', () => {
    const dims = [384, 12, 50]
    const values = new Float32Array(384 * 12 * 50).fill(3)
    const found = decodeSpans({ dims, values }, 384, 0.5)

    expect(found).to.have.length(4096)
    expect(selectSpans(found, { flat: true, multiLabel: false }).length).to.be.greaterThan(0)
  })

  it('refuses logits of another shape', () => {
    expect(() => decodeSpans({ dims: [3, 2], values: new Float32Array(6) }, 3, 0.5))
      .to.throw()
      .with.property('code', 'INFERENCE_FAILED')
  })
})

describe('word windows', () => {
  it('own every word once and stay within both limits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(5), { maxLength: 60 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 20 }),
        (tokenCounts, wordsMax, tokensMax) => {
          let owned = 0
          for (const window of buildWordWindows(tokenCounts, { wordsMax, tokensMax })) {
            const tokens = tokenCounts
              .slice(window.start, window.end)
              .reduce((sum, count) => sum + count, 0)
            expect(window.ownedStart).to.equal(owned)
            expect(window.start).to.be.at.most(window.ownedStart)
            expect(window.end).to.be.at.least(window.ownedEnd)
            expect(window.end - window.start).to.be.at.most(wordsMax)
            if (window.end - window.start > 1) expect(tokens).to.be.at.most(tokensMax)
            owned = window.ownedEnd
          }
          expect(owned).to.equal(tokenCounts.length)
        },
      ),
    )
  })
})

describe('REBEL parser', () => {
  it('reads triplets', () => {
    const text =
      '<s><triplet> Paris <subj> France <obj> capital of <triplet> Paris <subj> Seine <obj> located on</s>'

    expect(parseTriplets(text)).to.deep.equal([
      { head: 'Paris', tail: 'France', relation: 'capital of' },
      { head: 'Paris', tail: 'Seine', relation: 'located on' },
    ])
  })

  it('continues with the head of the last triplet', () => {
    const text = '<triplet> a <subj> b <obj> r <subj> c <obj> s'
    expect(parseTriplets(text).map(({ head, tail }) => head + tail)).to.deep.equal(['ab', 'ac'])
  })

  it('leaves out incomplete and repeated triplets', () => {
    expect(parseTriplets('<triplet> a <subj> b')).to.deep.equal([])
    expect(parseTriplets('plain')).to.deep.equal([])
    expect(parseTriplets('<obj> r <triplet> a <subj> <obj> r')).to.deep.equal([])
    const twice = '<triplet> a <subj> b <obj> r '.repeat(2)
    expect(parseTriplets(twice)).to.have.length(1)
  })
})
