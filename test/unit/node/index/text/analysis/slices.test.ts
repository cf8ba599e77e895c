import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { analyzerOf } from '../../../../../../node/index/text/analysis/analyzers.ts'
import {
  segmentByWhitespace,
  segmentLetters,
} from '../../../../../../node/index/text/analysis/simple-segmenters.ts'
import { segmentWords } from '../../../../../../node/index/text/analysis/word-segmenter.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import type { Segmenter } from '../../../../../../node/index/text/analysis/segmentation.ts'
import { walk } from '../../../../../support/slices/sliced-steps.ts'
import { longestStepAtBestMs } from '../../../../../support/slices/step-time.ts'

/** A step takes about a millisecond; this leaves room for slower machines. */
const STEP_MS_MAX = 25
const LENGTH = 2_000_000

function spansOf(segment: Segmenter, text: string, stepLength: number): readonly number[] {
  const segmentation = segment(text)
  const spans: number[] = []
  for (let upTo = stepLength; !segmentation.advance(upTo, spans);) upTo += stepLength
  return spans
}

function filled(piece: string): string {
  return piece.repeat(Math.ceil(LENGTH / piece.length))
}

describe('segmentation', () => {
  const segmenters: Record<string, Segmenter> = {
    words: segmentWords,
    letters: segmentLetters,
    whitespace: segmentByWhitespace,
  }
  for (const [name, segment] of Object.entries(segmenters)) {
    it(`finds the same ${name} in steps of any length`, () => {
      const unit = fc.constantFrom(
        'a',
        'B',
        ' ',
        '.',
        "'",
        '1',
        ',',
        '_',
        'é',
        '\u0301',
        '東',
        'カ',
        'ไ',
        'ท',
        '\u{1d4d0}',
        '\ud83d',
      )
      fc.assert(
        fc.property(
          fc.string({ unit, maxLength: 80 }),
          fc.integer({ min: 1, max: 9 }),
          (text, step) => {
            expect(spansOf(segment, text, step)).to.deep.equal(
              spansOf(segment, text, text.length + 1),
            )
          },
        ),
        { numRuns: 500 },
      )
    })
  }
})

describe('analysis in steps', () => {
  const texts: Readonly<Record<string, readonly [string, string]>> = {
    prose: ['standard', filled('The quick brown fox jumps. ')],
    'one word without an end': ['standard', filled('a')],
    'one word of pairs': ['standard', filled('\u{1d4d0}')],
    marks: ['standard', filled('\u0301')],
    'a joiner before marks': ['standard', `a.${filled('\u0301')}`],
    joiners: ['standard', filled("a.'")],
    ideographs: ['standard', filled('東')],
    Thai: ['standard', filled('ภาษาไทย')],
    letters: ['simple', filled('é')],
    'no letters': ['simple', filled('1')],
    'no white space': ['whitespace', filled('é-')],
    'white space': ['whitespace', filled(' \n')],
    stems: ['english', filled('connections happily decided ')],
    'a tag without an end': ['html', `<a ${filled('href ')}`],
    'closing tags in a script': ['html', `<script>${filled('</')}`],
    entities: ['html', filled('&amp;')],
    tags: ['html', filled('<b>a</b> ')],
  }
  for (const [what, [name, text]] of Object.entries(texts)) {
    it(`takes short steps through ${what}`, () => {
      const analyzer = analyzerOf(name)!

      const begin = () => analyzer.analyzeInSteps(text, () => undefined)

      expect(walk(begin()).pauses).to.be.above(99)
      expect(longestStepAtBestMs(begin, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    })
  }
})

const SCHEMA = parseTableSchema(
  { dynamic_templates: [{ match: 'points', mapping: { type: 'geopoint' } }] },
  undefined,
)

describe('mapping a document in steps', () => {
  const key = Buffer.from('k')
  const strings = Array.from({ length: 50_000 }, (_, at) => `tag ${at}`)
  const members = Object.fromEntries(strings.map((name) => [name, 1]))
  const documents = {
    'a long text': { text: 'words and words '.repeat(40_000) },
    'many strings': { tags: strings },
    'many members': { all: members },
    nulls: { none: strings.map(() => null), tag: 'x' },
    'arrays of arrays': { rows: strings.map((tag) => [[tag]]) },
    'points of a template': { points: strings.map((_, at) => [at % 90, 1]) },
    objects: { rows: strings.map((tag) => ({ tag })) },
  }
  for (const [what, document] of Object.entries(documents)) {
    it(`takes short steps through ${what}`, () => {
      const mapping = new FieldMapping(SCHEMA)
      mapping.mapDocument(key, document, 0)

      const begin = () => mapping.mapDocumentInSteps(key, document, 0)

      expect(walk(begin()).pauses).to.be.above(19)
      expect(longestStepAtBestMs(begin, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    })
  }

  it('gives the same result as mapping at once, also for two documents in turns', () => {
    const [one, other] = [
      { a: 'x '.repeat(30_000), n: [1] },
      { a: strings.slice(0, 5000), n: 'none' },
    ]
    const apart = new FieldMapping(undefined)
    const expected = [one, other].map((document) => apart.mapDocument(key, document, 0))

    const mapping = new FieldMapping(undefined, apart.fields)
    const work = [one, other].map((document) => mapping.mapDocumentInSteps(key, document, 0))
    for (let turn = 0; turn < 5; turn += 1) for (const each of work) each.next()

    expect(work.map((each) => runAtOnce(each))).to.deep.equal(expected)
  })
})
