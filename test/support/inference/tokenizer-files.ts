// Tiny tokenizer.json files of the kinds that generators and multilingual models use.

const BYTES = buildByteAlphabet()

/** As GPT-2 has it: every byte is a token, and a few words are merged. */
export function byteLevelTokenizer(special: readonly string[] = []) {
  const merges: [string, string][] = [
    ['h', 'e'],
    ['l', 'l'],
    ['he', 'll'],
    ['hell', 'o'],
    ['Ġ', 'hello'],
  ]
  const tokens = [...BYTES, ...merges.map((pair) => pair.join(''))]
  const names = ['<|endoftext|>', ...special]
  return {
    added_tokens: names.map((content, index) => ({
      id: tokens.length + index,
      content,
      normalized: false,
      special: true,
    })),
    normalizer: { type: 'NFC' },
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: { type: 'ByteLevel', trim_offsets: false },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: indexTokens(tokens), merges },
  }
}

/** As Llama 2 has it: spaces are marked, characters without a token fall back to their bytes. */
export function metaspaceTokenizer(): object {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  )
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, '▁', 'h', 'e', 'l', 'o', 'he', 'll', 'w', '▁w']
  const special = ['<unk>', '<s>', '</s>'].map((content, id) => ({ id, content, special: true }))
  return {
    added_tokens: special.map((token) => ({ ...token, normalized: false })),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      unk_token: '<unk>',
      fuse_unk: true,
      byte_fallback: true,
      vocab: indexTokens(tokens),
      merges: ['h e', 'l l', '▁ w'],
    },
  }
}

/** As XLM-RoBERTa has it: scored pieces, and unknown characters fused into one token. */
export function unigramTokenizer(): object {
  const pieces = [
    '<s>',
    '<pad>',
    '</s>',
    '<unk>',
    '▁',
    'hello',
    '▁hello',
    '▁w',
    'or',
    'ld',
    's',
    'e',
  ]
  return {
    added_tokens: ['<s>', '<pad>', '</s>', '<unk>'].map((content, id) => ({
      id,
      content,
      special: true,
      normalized: false,
    })),
    normalizer: { type: 'Precompiled', precompiled_charsmap: '' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'WhitespaceSplit' },
        { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
      ],
    },
    post_processor: {
      type: 'RobertaProcessing',
      cls: ['<s>', 0],
      sep: ['</s>', 2],
      trim_offsets: true,
      add_prefix_space: true,
    },
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
    model: { type: 'Unigram', unk_id: 3, vocab: pieces.map((piece, id) => [piece, -id]) },
  }
}

function indexTokens(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, id) => [token, id]))
}

function buildByteAlphabet(): string[] {
  let others = 0
  return Array.from({ length: 256 }, (_, byte) => {
    if (isPrintable(byte)) return String.fromCharCode(byte)
    others += 1
    return String.fromCharCode(255 + others)
  })
}

function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
}
