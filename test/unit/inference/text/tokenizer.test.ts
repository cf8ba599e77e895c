import { expect } from 'chai'
import * as fc from 'fast-check'
import { isServiceError } from '../../../../lib/errors.ts'
import { openTokenizer } from '../../../../inference/text/tokenizer-handle.ts'
import type { TokenizerHandle } from '../../../../inference/text/tokenizer-handle.ts'
import {
  TINY_TOKENIZER_CONFIG,
  tinyTokenizer,
} from '../../../support/inference/model-directories.ts'
import {
  byteLevelTokenizer,
  metaspaceTokenizer,
  unigramTokenizer,
} from '../../../support/inference/tokenizer-files.ts'

type Json = Record<string, unknown>

const STRIPPING_TOKENS = [
  { id: 3, content: '[SEP]', special: true, lstrip: true },
  { id: 18, content: '<<ENT>>', rstrip: true, normalized: false },
  { id: 7, content: 'Foo', normalized: true },
]

function open(tokenizer: object, config: object = TINY_TOKENIZER_CONFIG): TokenizerHandle {
  return openTokenizer({
    tokenizerJson: JSON.stringify(tokenizer),
    tokenizerConfig: JSON.stringify(config),
  })
}

function tiny(changes: Json = {}): object {
  return { ...tinyTokenizer(['<<ENT>>']), ...changes }
}

function refusalOf(tokenizer: object): string {
  try {
    open(tokenizer)
  } catch (error) {
    if (isServiceError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'taken'
}

describe('TokenizerHandle', () => {
  const tokenizer = open(tinyTokenizer())

  it('puts special tokens around a text', () => {
    expect(tokenizer.encode('hello worlds').ids).to.deep.equal([2, 4, 5, 6, 3])
    expect(tokenizer.encode('foo').ids).to.deep.equal([2, 7, 3])
    expect(tokenizer.encode('').ids).to.deep.equal([2, 3])
  })

  it('marks the second text of a pair by its token type', () => {
    const pair = tokenizer.encodePair({ first: 'hello', second: 'world foo' })

    expect(pair.ids).to.deep.equal([2, 4, 3, 5, 7, 3])
    expect(pair.typeIds).to.deep.equal([0, 0, 0, 1, 1, 1])
  })

  it('keeps the place of an empty second text', () => {
    const pair = tokenizer.encodePair({ first: 'hello', second: '' })

    expect(pair.ids).to.deep.equal([2, 4, 3, 3])
    expect(pair.typeIds).to.deep.equal([0, 0, 0, 1])
  })

  it('cuts tokens of the text and keeps the special ones', () => {
    const cut = tokenizer.encode('hello worlds', { maxTokens: 4 })

    expect(cut).to.deep.equal({ ids: [2, 4, 5, 3], typeIds: [0, 0, 0, 0], truncated: true })
    expect(tokenizer.encode('hello worlds', { maxTokens: 5 }).truncated).to.equal(false)
  })

  it('cuts the second text of a pair before the first', () => {
    const pair = { first: 'hello', second: 'world foo' }

    expect(tokenizer.encodePair(pair, { maxTokens: 5 }).ids).to.deep.equal([2, 4, 3, 5, 3])
    expect(tokenizer.encodePair(pair, { maxTokens: 3 }).ids).to.deep.equal([2, 3, 3])
  })

  it('reads no more characters than a model could take', () => {
    const text = `foo${' '.repeat(3000)}foo`

    expect(tokenizer.encode(text, { maxTokens: 10 })).to.deep.include({
      ids: [2, 7, 3],
      truncated: true,
    })
  })

  it('reads the padding from tokenizer_config.json', () => {
    expect(tokenizer.padId).to.equal(0)
    expect(tokenizer.paddingSide).to.equal('right')
    const left = open(tinyTokenizer(), { padding_side: 'left', eos_token: { content: '[SEP]' } })
    expect(left.padId).to.equal(3)
    expect(left.paddingSide).to.equal('left')
  })

  it('encodes words that are already split', () => {
    const encoding = tokenizer.encodeWords(['hello', 'worlds', 'foo'])

    expect(encoding.ids).to.deep.equal([2, 4, 5, 6, 7, 3])
    expect(encoding.wordIndexes).to.deep.equal([-1, 0, 1, 1, 2, -1])
  })

  it('ignores the padding and truncation of tokenizer.json', () => {
    const fixed = open({
      ...tinyTokenizer(),
      truncation: { max_length: 3 },
      padding: { strategy: { Fixed: 8 }, pad_id: 0 },
    })

    expect(fixed.encode('hello worlds').ids).to.deep.equal([2, 4, 5, 6, 3])
  })

  it('finds where tokens stand in the text', () => {
    const text = '\u{1F600} Alice works.'
    const { ids, spans } = tokenizer.encodeWithOffsets(text)

    expect(ids).to.deep.equal([2, 1, 10, 14, 9, 3])
    expect(spans.map((span) => (span ? text.slice(span.start, span.end) : ''))).to.deep.equal([
      '',
      '\u{1F600}',
      'Alice',
      'works',
      '.',
      '',
    ])
  })

  it('finds tokens of text whose normal form is shorter or longer', () => {
    const cases: Record<string, string[]> = {
      'He\u0301llo world': ['He\u0301llo', 'world'],
      'foo\u0000bar hello': ['foo\u0000bar', 'hello'],
      '\u4F60foo': ['\u4F60', 'foo'],
      'foo[SEP]bar': ['foo', '[SEP]', 'bar'],
      'ΣΑΣ foo': ['ΣΑΣ', 'foo'],
    }
    for (const [text, expected] of Object.entries(cases)) {
      const { spans } = tokenizer.contentWithOffsets(text)
      expect(spans.map(({ start, end }) => text.slice(start, end))).to.deep.equal(expected)
    }
  })

  const kinds: Record<string, object> = {
    WordPiece: tiny(),
    'WordPiece with stripping added tokens': tiny({ added_tokens: STRIPPING_TOKENS }),
    'byte-level BPE': byteLevelTokenizer(),
    'Metaspace BPE with byte fallback': metaspaceTokenizer(),
    Unigram: unigramTokenizer(),
  }
  for (const [name, file] of Object.entries(kinds)) {
    describe(`of kind ${name}`, () => {
      const isCleaning = name === 'Unigram'
      const handle = open(file, {
        remove_space: isCleaning,
        do_lowercase_and_remove_accent: isCleaning,
      })
      const texts = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc
          .array(
            fc.constantFrom(
              'hello',
              'worlds',
              ' ',
              '  ',
              '\n',
              'É',
              'e\u0301',
              '你好',
              '\u{1F469}\u200D\u{1F680}',
              '[SEP]',
              '<<ENT>>',
              'Foo',
              '.',
              "'t",
              'İ',
              'ﬁ',
              '\uFDFA',
              '한국',
              '\ud800',
              '▁',
              'Σς',
            ),
            { maxLength: 12 },
          )
          .map((parts) => parts.join('')),
      )

      it('gives the ids of encode with spans that lie in the text in order', () => {
        fc.assert(
          fc.property(texts, (text) => {
            const { ids, spans } = handle.contentWithOffsets(text)
            expect(ids).to.deep.equal(handle.content(text))
            let last = 0
            for (const { start, end } of spans) {
              expect(start).to.be.within(0, text.length)
              expect(end).to.be.within(start, text.length)
              expect(start).to.be.at.least(last)
              last = start
            }
          }),
          { numRuns: 300 },
        )
      })

      it('streams the text that decode gives', () => {
        fc.assert(
          fc.property(texts, (text) => {
            const ids = handle.content(text)
            const stream = handle.decodeStream()
            const parts = [...ids.map((id) => stream.push(id)), stream.flush()]
            expect(parts.join('')).to.equal(handle.decode(ids))
          }),
          { numRuns: 300 },
        )
      })

      it('truncates a long text to the beginning of all its tokens', () => {
        const long = fc.array(texts, { minLength: 5, maxLength: 60 }).map((all) => all.join(' '))
        fc.assert(
          fc.property(long, fc.integer({ min: 4, max: 8 }), (text, maxTokens) => {
            const room = maxTokens - handle.specialCount('single')
            const { ids, truncated } = handle.encode(text, { maxTokens })
            const all = handle.content(text)
            expect(ids).to.deep.equal(handle.wrap(all.slice(0, room)).ids)
            expect(truncated).to.equal(all.length > room)
          }),
          { numRuns: 100 },
        )
      })

      it('keeps to the limit for any text', () => {
        fc.assert(
          fc.property(texts, fc.integer({ min: 4, max: 20 }), (text, maxTokens) => {
            const all = handle.encode(text)
            const cut = handle.encode(text, { maxTokens })
            expect(cut.ids.length).to.be.at.most(maxTokens)
            expect(cut.truncated).to.equal(all.ids.length > maxTokens)
            expect(cut.typeIds.length).to.equal(cut.ids.length)
          }),
          { numRuns: 200 },
        )
      })
    })
  }

  it('never streams a part of a character', () => {
    const handle = open(byteLevelTokenizer())
    const stream = handle.decodeStream()
    const parts = [...handle.content('a\u{1F600}b').map((id) => stream.push(id)), stream.flush()]

    expect(parts.filter((part) => part !== '')).to.deep.equal(['a', '\u{1F600}', 'b'])
  })

  it('leaves special tokens out of text unless they are kept', () => {
    expect(tokenizer.decode([2, 4, 5, 6, 3])).to.equal('hello worlds')
    expect(tokenizer.decode([2])).to.equal('')
    expect(tokenizer.decode([4, 3], { keep: new Set([3]) })).to.equal('hello [SEP]')
  })

  it('refuses unsupported tokenizers with the reason', () => {
    const bpe = { type: 'BPE', vocab: { a: 0 }, merges: [] }
    const cases: Record<string, Json> = {
      WordLevel: { model: { type: 'WordLevel', vocab: { a: 0 }, unk_token: 'a' } },
      unk_token: { model: { type: 'WordPiece', vocab: { a: 0 }, unk_token: 'b' } },
      unk_id: { model: { type: 'Unigram', vocab: [['a', 0]], unk_id: null } },
      'prefixes of one another': {
        model: {
          type: 'Unigram',
          vocab: Array.from({ length: 80 }, (_, i) => ['a'.repeat(i + 1), 0]),
          unk_id: 0,
        },
      },
      below: { model: { ...bpe, vocab: { a: 4_000_000_000 } } },
      '"model" must be': { model: [] },
      UnicodeScripts: { pre_tokenizer: { type: 'UnicodeScripts' } },
      ByteLevel: { normalizer: { type: 'ByteLevel' } },
      behavior: {
        pre_tokenizer: { type: 'Split', pattern: { String: 'a' }, behavior: 'isolated' },
      },
      'not for BPE': { model: { ...bpe, continuing_subword_prefix: '##' } },
      precompiled_charsmap: {
        normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' },
      },
      type_id: {
        post_processor: {
          type: 'TemplateProcessing',
          single: [{ Sequence: { id: 'A', type_id: -1 } }],
          pair: [],
        },
      },
      constructor: { normalizer: { type: 'constructor' } },
      FixedLength: { pre_tokenizer: { type: 'FixedLength', length: 0 } },
      lengthen: {
        normalizer: {
          type: 'Sequence',
          normalizers: Array.from({ length: 8 }, () => ({
            type: 'Replace',
            pattern: { String: 'a' },
            content: 'aa',
          })),
        },
      },
      components: {
        normalizer: {
          type: 'Sequence',
          normalizers: Array.from({ length: 100 }, () => ({ type: 'NFC' })),
        },
      },
      'has no ids': {
        post_processor: {
          type: 'TemplateProcessing',
          single: [{ SpecialToken: { id: 'x', type_id: 0 } }],
          pair: [],
        },
      },
      added: { added_tokens: [{ id: 1, content: '' }] },
    }
    for (const [reason, changes] of Object.entries(cases)) {
      expect(refusalOf(tiny(changes)))
        .to.match(/^INVALID_ARGUMENT: /)
        .and.include(reason)
    }
    expect(() => openTokenizer({ tokenizerJson: '{', tokenizerConfig: undefined })).to.throw(
      'not JSON',
    )
  })

  it('stops a regular expression that would need exponential time', () => {
    const split = { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated' }
    const hostile = openTokenizer(
      { tokenizerJson: JSON.stringify(tiny({ pre_tokenizer: split })), tokenizerConfig: undefined },
      100,
    )

    expect(() => hostile.encode(`${'a'.repeat(60)}b`))
      .to.throw('stopped')
      .with.property('code', 'DEADLINE_EXCEEDED')
    expect(hostile.encode('foo').ids).to.deep.equal([2, 7, 3])
  })

  it('reports where it may differ from the reference', () => {
    expect(tokenizer.warnings).to.deep.equal([])
    const dropping = { type: 'BPE', vocab: { a: 0 }, merges: [], unk_token: 'a', dropout: 0.1 }
    expect(open(tiny({ model: dropping })).warnings).to.have.length(1)
    const omitting = { type: 'BPE', vocab: { a: 0 }, merges: [] }
    expect(open(tiny({ model: omitting })).warnings).to.have.length(1)
    expect(open(byteLevelTokenizer()).warnings).to.deep.equal([])
    const lowering = { do_lowercase_and_remove_accent: true }
    expect(open(tiny(), lowering).warnings).to.have.length(1)
  })
})
