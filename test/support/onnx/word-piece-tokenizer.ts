// The tokenizer of a BERT, as the files that come with a model describe it.

/** Their ids are their indexes. */
export const SPECIAL_TOKENS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'] as const

/**
 * A tokenizer.json: special tokens, then `words` (`##` in front of what goes on with a word), then
 * `added`, which are special as well.
 */
export function wordPieceTokenizer(
  words: readonly string[],
  added: readonly string[] = [],
): object {
  const tokens = [...SPECIAL_TOKENS, ...words, ...added]
  const cls = { SpecialToken: { id: '[CLS]', type_id: 0 } }
  const first = { Sequence: { id: 'A', type_id: 0 } }
  const end = { SpecialToken: { id: '[SEP]', type_id: 0 } }
  const second = { Sequence: { id: 'B', type_id: 1 } }
  const secondEnd = { SpecialToken: { id: '[SEP]', type_id: 1 } }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [...SPECIAL_TOKENS, ...added].map((content) => ({
      id: tokens.indexOf(content),
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [cls, first, end],
      pair: [cls, first, end, second, secondEnd],
      special_tokens: {
        '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] },
        '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] },
      },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    },
  }
}

/** A tokenizer_config.json. */
export function wordPieceConfig(maxTokens: number): object {
  return {
    tokenizer_class: 'BertTokenizer',
    model_max_length: maxTokens,
    pad_token: '[PAD]',
    unk_token: '[UNK]',
    cls_token: '[CLS]',
    sep_token: '[SEP]',
  }
}
