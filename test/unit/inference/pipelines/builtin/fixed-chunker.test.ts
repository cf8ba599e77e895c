import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { buildChunkSettings } from '../../../../../inference/pipelines/builtin/chunk-settings.ts'
import type { ChunkSettings } from '../../../../../inference/pipelines/builtin/chunk-settings.ts'
import { chunkFixed } from '../../../../../inference/pipelines/builtin/fixed-chunker.ts'
import type { TextRange } from '../../../../../inference/pipelines/builtin/word-scanner.ts'
import { countTokens } from '../../../../../inference/text/token-counter.ts'
import { cpuMsOf, longestStepAtBestMs } from '../../../../support/slices/step-time.ts'

const NUMBERS = 'one two three four five six seven eight nine ten'

function rangesOf(text: string, settings: ChunkSettings): readonly TextRange[] {
  return runAtOnce(chunkFixed(text, settings))
}

function chunksOf(text: string, options: Partial<ChunkSettings>): [number, number, string][] {
  return rangesOf(text, buildChunkSettings(options)).map(({ start, end }) => [
    start,
    end,
    text.slice(start, end),
  ])
}

describe('fixed chunker', () => {
  it('repeats whole words of the chunk before', () => {
    const options = { targetTokens: 4, overlapTokens: 1, separator: ' ' }

    expect(chunksOf(NUMBERS, options)).to.deep.equal([
      [0, 18, 'one two three four'],
      [14, 33, 'four five six seven'],
      [28, 48, 'seven eight nine ten'],
    ])
  })

  it('repeats nothing where the overlap is 0, and stops at the last chunk allowed', () => {
    const options = { targetTokens: 4, overlapTokens: 0, separator: ' ' }

    expect(chunksOf(NUMBERS, options).map(([start, end]) => [start, end])).to.deep.equal([
      [0, 18],
      [19, 39],
      [40, 48],
    ])
    expect(chunksOf(NUMBERS, { ...options, maxChunks: 2 })).to.have.length(2)
  })

  it('cuts at the separator, else at newlines, else after sentences', () => {
    const few = { targetTokens: 3, overlapTokens: 0 }

    expect(chunksOf('a b\n\nc d\n\ne', few).map(([, , text]) => text)).to.deep.equal([
      'a b',
      'c d\n\ne',
    ])
    expect(chunksOf('a b\nc d', few).map(([, , text]) => text)).to.deep.equal(['a b', 'c d'])
    expect(chunksOf('a b. c d. e', few).map(([, , text]) => text)).to.deep.equal([
      'a b.',
      'c d.',
      'e',
    ])
  })

  it('counts a separator that stands inside a chunk', () => {
    const options = { targetTokens: 4, overlapTokens: 0, separator: '---' }

    expect(chunksOf('a---b', options).map(([, , text]) => text)).to.deep.equal(['a', 'b'])
    expect(chunksOf('a---b', { ...options, targetTokens: 5 })).to.have.length(1)
  })

  it('counts a separator that stands inside an overlap', () => {
    const options = { targetTokens: 6, separator: '-' }

    const texts = (overlapTokens: number): string[] =>
      chunksOf('a-b-c-d', { ...options, overlapTokens }).map(([, , text]) => text)
    expect(texts(2)).to.deep.equal(['a-b-c', 'c-d'])
    expect(texts(3)).to.deep.equal(['a-b-c', 'b-c-d'])
  })

  it('answers no chunk for white space', () => {
    expect(chunksOf(' \n ', {})).to.deep.equal([])
  })

  const texts = fc
    .array(
      fc.oneof(
        fc.constantFrom(' ', '\n', '\n\n', '. ', 'word', 'a', '你好世界', '\u{1F600}', '-'),
        fc.string({ unit: 'binary', maxLength: 8 }),
        fc.string({ unit: 'grapheme', minLength: 20, maxLength: 60 }),
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(''))
  const settings = fc
    .tuple(fc.integer({ min: 1, max: 20 }), fc.nat(19), fc.constantFrom(' ', '\n\n', '', '-', 'or'))
    .map(([targetTokens, overlap, separator]) =>
      buildChunkSettings({
        targetTokens,
        overlapTokens: Math.min(overlap, Math.floor(targetTokens / 2)),
        separator,
        maxChunks: 10_000,
      }),
    )

  it('moves on with every chunk and never cuts a character', () => {
    fc.assert(
      fc.property(texts, settings, (text, chosen) => {
        let last = { start: -1, end: 0 }
        for (const chunk of rangesOf(text, chosen)) {
          const slice = text.slice(chunk.start, chunk.end)
          expect(chunk.start).to.be.greaterThan(last.start)
          expect(chunk.end).to.be.greaterThan(last.end)
          expect(slice.trim()).to.equal(slice)
          if (text.isWellFormed()) expect(slice.isWellFormed()).to.equal(true)
          last = chunk
        }
      }),
    )
  })

  it('keeps to the target and to the overlap', () => {
    fc.assert(
      fc.property(texts, settings, (text, chosen) => {
        const chunks = rangesOf(text, chosen)
        for (const [index, { start, end }] of chunks.entries()) {
          const isCharacter = Array.from(text.slice(start, end)).length === 1
          const tokens = countTokens(text.slice(start, end))
          if (!isCharacter) expect(tokens).to.be.at.most(chosen.targetTokens)
          const shared = text.slice(start, chunks[index - 1]?.end ?? 0)
          expect(countTokens(shared)).to.be.at.most(chosen.overlapTokens)
        }
      }),
    )
  })

  it('has no character in more than four chunks', () => {
    fc.assert(
      fc.property(texts, settings, (text, chosen) => {
        const counts = new Uint32Array(text.length)
        for (const { start, end } of rangesOf(text, chosen)) {
          for (let at = start; at < end; at += 1) counts[at] = (counts[at] ?? 0) + 1
        }
        expect(counts.reduce((most, count) => Math.max(most, count), 0)).to.be.at.most(4)
      }),
      { numRuns: 1000 },
    )
  })

  it('looks for separators only inside a part, not behind it', () => {
    const lines = 'a b c d\n'.repeat(4_000_000)
    const few = { targetTokens: 1, overlapTokens: 0, separator: '', maxChunks: 10_000 }
    const beginning = lines.slice(0, 40_000)

    const [short, long] = [beginning, lines].map((text) => cpuMsOf(() => chunksOf(text, few)))

    // The same chunks of a text of eight hundred times the length; it took seconds more before.
    expect(long ?? 0).to.be.lessThan((short ?? 0) + 1000)
  })

  it('never works for long between two pauses', () => {
    const cases = [
      'x'.repeat(2 ** 17),
      ' '.repeat(2 ** 17),
      '\n'.repeat(2 ** 17),
      '語'.repeat(2 ** 17),
      'a b c d\n'.repeat(2 ** 14),
      'a. '.repeat(2 ** 15),
    ]
    for (const text of cases) {
      for (const separator of ['', ' ', 'x', '-'.repeat(256)]) {
        for (const targetTokens of [1, 8192]) {
          const options = { targetTokens, separator, overlapTokens: 0, maxChunks: 10_000 }
          const chosen = buildChunkSettings(options)
          const longestMs = longestStepAtBestMs(() => chunkFixed(text, chosen), 20)

          expect(longestMs).to.be.lessThan(20)
        }
      }
    }
  })

  it('leaves out only white space and separators', () => {
    fc.assert(
      fc.property(texts, settings, (text, chosen) => {
        let end = 0
        for (const chunk of [...rangesOf(text, chosen), { start: text.length, end: text.length }]) {
          const between = text.slice(end, Math.max(end, chunk.start))
          expect(between.replaceAll(chosen.separator || ' ', '').trim()).to.equal('')
          end = chunk.end
        }
      }),
    )
  })

  it('takes time in proportion to the text', () => {
    const million = 'The quick brown fox jumps over the lazy dog. '.repeat(22_000)
    const word = 'x'.repeat(1_000_000)

    const cpuMs = cpuMsOf(() => {
      const prose = chunksOf(million, { maxChunks: 10_000 })
      chunksOf(million.replaceAll('. ', ' '), { maxChunks: 10_000, targetTokens: 8192 })
      chunksOf(word, { maxChunks: 10_000 })
      expect(prose.at(-1)?.[1]).to.equal(million.length - 1)
    })

    expect(cpuMs).to.be.lessThan(3000)
  })
})

describe('chunk settings', () => {
  it('take their defaults, and a tenth of a small target as overlap', () => {
    expect(buildChunkSettings({})).to.deep.equal({
      targetTokens: 500,
      overlapTokens: 50,
      separator: '\n\n',
      maxChunks: 50,
      threshold: 0.5,
    })
    expect(buildChunkSettings({ targetTokens: 40 }).overlapTokens).to.equal(4)
  })

  it('refuse values outside of their bounds', () => {
    const cases: Partial<ChunkSettings>[] = [
      { targetTokens: 0 },
      { targetTokens: 8193 },
      { targetTokens: 1.5 },
      { targetTokens: 4, overlapTokens: 3 },
      { targetTokens: 1, overlapTokens: 1 },
      { overlapTokens: -1 },
      { maxChunks: 0 },
      { maxChunks: 10_001 },
      { threshold: 1.1 },
      { threshold: NaN },
      { separator: 'x'.repeat(1001) },
    ]
    for (const options of cases) {
      expect(() => buildChunkSettings(options))
        .to.throw()
        .with.property('code', 'INVALID_ARGUMENT')
    }
  })
})
