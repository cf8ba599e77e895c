// Our tokenizers beside the original implementation, whose answers are in test/fixtures/tokenizers.
// Known differences are counted, so that one more or one less is noticed.

import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { openTokenizer } from '../../../../inference/text/tokenizer-handle.ts'
import { trimSpan } from '../../../../inference/text/token-offsets.ts'
import type { Span } from '../../../../inference/text/token-offsets.ts'

interface Shared {
  readonly texts: readonly string[]
  readonly pairs: readonly (readonly [first: number, second: number])[]
}

type Ids = readonly number[]

interface Family {
  readonly tokenizer: { readonly added_tokens: readonly { id: number; special: boolean }[] }
  /** The special tokens around a single text, and the types of a single text's tokens. */
  readonly before: Ids
  readonly after: Ids
  readonly typeIds: Ids
  /** The results for each text, without special tokens. Offsets are code points: start, end. */
  readonly cases: readonly [ids: Ids, offsets: Ids, decoded: string, whole?: string][]
  readonly pairs: readonly [ids: Ids, typeIds: Ids][]
  readonly cuts: readonly [text: number, maxTokens: number, ids: Ids][]
  readonly pairCuts: readonly [first: number, second: number, maxTokens: number, ids: Ids][]
  readonly decodes: readonly [ids: Ids, text: string][]
}

/** In what we differ on purpose; docs/decisions/0010-models-and-media.md has the reasons. */
type Difference =
  /** Our span has a whole letter with its marks, or a whole run of white space. */
  | 'whole'
  /** Our span of a token of white space has a place, where theirs is empty. */
  | 'placed'
  /** Their span is one character off. */
  | 'slipped'
  /** Our text has a space for the mark at the end of a word. */
  | 'spaced'
  /** Our text has an added token as it is written, where theirs is normalized. */
  | 'written'
  /** Our text keeps the characters before broken bytes. */
  | 'spared'

type Tally = Partial<Record<Difference, number>>

/** How many tokens of the texts, texts, and sequences of any ids differ. */
const DIFFERENCES: Readonly<Record<string, { spans?: Tally; texts?: Tally; anyIds?: Tally }>> = {
  'added-tokens': { spans: { whole: 19 }, texts: { written: 34 }, anyIds: { written: 3 } },
  albert: { spans: { whole: 28 } },
  'bert-uncased': { spans: { whole: 19 } },
  clip: { spans: { whole: 28 }, texts: { spaced: 60 }, anyIds: { spaced: 14 } },
  'digits-and-scripts': { spans: { placed: 118 } },
  gemma: { anyIds: { spared: 5 } },
  llama2: { anyIds: { spared: 5 } },
  llama3: { spans: { placed: 121 } },
  mistral: { anyIds: { spared: 5 } },
  qwen2: { spans: { whole: 27 } },
  roberta: { spans: { placed: 137 } },
  'roberta-prefix-space': { spans: { placed: 130, slipped: 3 } },
  'split-behaviors': { spans: { whole: 17 } },
  t5: { spans: { whole: 10, slipped: 8 } },
  whitespace: { spans: { whole: 19 } },
  'xlm-roberta': { spans: { whole: 31 }, anyIds: { spared: 5 } },
}

const DIRECTORY = path.resolve(import.meta.dirname, '../../../fixtures/tokenizers')
const shared: Shared = JSON.parse(readFixture('texts'))
const families = readdirSync(DIRECTORY)
  .filter((name) => name.endsWith('.json') && name !== 'texts.json')
  .map((name) => path.basename(name, '.json'))

function readFixture(name: string): string {
  return readFileSync(path.join(DIRECTORY, `${name}.json`), 'utf8')
}

for (const name of families) {
  describe(`the tokenizer ${name} beside the original`, () => {
    const family: Family = JSON.parse(readFixture(name))
    const handle = openTokenizer({
      tokenizerJson: JSON.stringify(family.tokenizer),
      tokenizerConfig: undefined,
    })
    const added = family.tokenizer.added_tokens
    const special = new Set(added.filter((token) => token.special).map(({ id }) => id))
    const differences = DIFFERENCES[name] ?? {}
    const cases = shared.texts.map((text, index) => ({ text, answer: family.cases[index]! }))

    it('gives the same ids, with special tokens and without', () => {
      for (const { text, answer } of cases) {
        const [ids] = answer
        const all = [...family.before, ...ids, ...family.after]
        expect(handle.content(text), text).to.deep.equal(ids)
        expect(handle.encode(text).ids, text).to.deep.equal(all)
        expect(handle.encodeWithOffsets(text).ids, text).to.deep.equal(all)
      }
      expect(handle.encode(shared.texts[3]!).typeIds).to.deep.equal(family.typeIds)
      expect(handle.warnings).to.deep.equal([])
    })

    it('gives the same places', () => {
      const tally: Tally = {}
      for (const { text, answer } of cases) {
        const { ids, spans } = handle.contentWithOffsets(text)
        const theirs = spansOf(text, answer[1])

        expect(ids, text).to.deep.equal(answer[0])
        for (const [index, span] of spans.entries()) {
          count(tally, compareSpans(text, span, theirs[index]!))
        }
      }
      expect(tally).to.deep.equal(differences.spans ?? {})
    })

    it('gives the same ids and types of pairs', () => {
      for (const [index, [first, second]] of shared.pairs.entries()) {
        const pair = { first: shared.texts[first]!, second: shared.texts[second]! }
        const encoding = handle.encodePair(pair)
        expect([encoding.ids, encoding.typeIds]).to.deep.equal(family.pairs[index])
      }
    })

    it('truncates texts and pairs to the same ids', () => {
      for (const [text, maxTokens, ids] of family.cuts) {
        expect(handle.encode(shared.texts[text]!, { maxTokens }).ids).to.deep.equal(ids)
      }
      for (const [first, second, maxTokens, ids] of family.pairCuts) {
        const pair = { first: shared.texts[first]!, second: shared.texts[second]! }
        expect(handle.encodePair(pair, { maxTokens }).ids).to.deep.equal(ids)
      }
    })

    it('decodes to the same text, with special tokens and without', () => {
      const tally: Tally = {}
      for (const { answer } of cases) {
        const [ids, , decoded, whole = decoded] = answer
        const all = [...family.before, ...ids, ...family.after]
        const texts = [handle.decode(all), handle.decode(all, { keep: special })]
        count(tally, compareTexts(texts.join('\n'), `${decoded}\n${whole}`))
      }
      expect(tally).to.deep.equal(differences.texts ?? {})
    })

    it('decodes ids that no text gives as the original does', () => {
      const tally: Tally = {}
      for (const [ids, text] of family.decodes) {
        count(tally, compareTexts(handle.decode(ids, { keep: special }), text))
      }
      expect(tally).to.deep.equal(differences.anyIds ?? {})
    })

    it('streams the decoded text, and never a part of a character', () => {
      const sequences = [
        ...cases.map(({ answer }) => [...family.before, ...answer[0], ...family.after]),
        ...family.decodes.map(([ids]) => ids),
      ]
      for (const ids of sequences) {
        const text = handle.decode(ids, { keep: special })
        const stream = handle.decodeStream({ keep: special })
        const pieces = [...ids.map((id) => stream.push(id)), stream.flush()]
        expect(pieces.join('')).to.equal(text)
        const broken = pieces.filter((piece) => piece.includes('\uFFFD'))
        if (!text.includes('\uFFFD')) expect(broken, text).to.deep.equal([])
      }
    })

    it('treats a lone surrogate as U+FFFD', () => {
      const broken = 'hello \ud800 wor\udc00ld'
      const whole = 'hello \ufffd wor\ufffdld'
      expect(handle.content(broken)).to.deep.equal(handle.content(whole))
      expect(handle.contentWithOffsets(broken)).to.deep.equal(handle.contentWithOffsets(whole))
    })
  })
}

function count(tally: Tally, difference: Difference | undefined): void {
  if (difference !== undefined) tally[difference] = (tally[difference] ?? 0) + 1
}

/** Their offsets count code points, and have the white space that a token carries. */
function spansOf(text: string, offsets: Ids): Span[] {
  const units = [0]
  for (const character of text) units.push(units.at(-1)! + character.length)
  return Array.from({ length: offsets.length / 2 }, (_, index) =>
    trimSpan(text, { start: units[offsets[2 * index]!]!, end: units[offsets[2 * index + 1]!]! }),
  )
}

const UNIT = /[\u1100-\u115f][\u1160-\u11ff]*|[^\p{M}]?[\p{M}\uff9e\uff9f]+|\p{White_Space}+|./gsu

function compareSpans(text: string, ours: Span, theirs: Span): Difference | undefined {
  if (isSame(ours, theirs)) return undefined
  const units = Array.from(text.matchAll(UNIT), ({ 0: unit, index }) => ({
    start: index,
    end: index + unit.length,
  })).filter(({ start, end }) => end > theirs.start && start < theirs.end)
  const whole = { start: units[0]?.start ?? theirs.start, end: units.at(-1)?.end ?? theirs.end }
  if (isSame(ours, trimSpan(text, whole))) {
    return 'whole'
  }
  const isEmpty = theirs.start === theirs.end
  if (isEmpty && text.slice(ours.start, ours.end).trim() === '') {
    return 'placed'
  }
  expect(Math.abs(ours.start - theirs.start), text).to.be.at.most(1)
  expect(Math.abs(ours.end - theirs.end), text).to.be.at.most(1)
  return 'slipped'
}

function isSame(left: Span, right: Span): boolean {
  return left.start === right.start && left.end === right.end
}

/** Fails where the two differ without a known reason. */
function compareTexts(ours: string, theirs: string): Difference | undefined {
  if (ours === theirs) return undefined
  if (ours === theirs.replaceAll('</w>', ' ')) return 'spaced'
  if (normalizeAdded(ours) === theirs) return 'written'
  expect(
    [ours, theirs].every((text) => text.includes('\uFFFD')),
    `${ours}\n${theirs}`,
  ).to.equal(true)
  return 'spared'
}

/** Normalizes the added tokens that the normalizer changes. */
function normalizeAdded(text: string): string {
  return text.replaceAll('É', 'e').replaceAll('WHOLE', 'whole')
}
