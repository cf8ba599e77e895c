// Writes model directories as a hub or an exporter lays them out, around the graphs of
// model-graphs.ts and one tiny WordPiece tokenizer.

import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  SPECIAL_TOKENS,
  wordPieceConfig,
  wordPieceTokenizer,
} from '../onnx/word-piece-tokenizer.ts'
import {
  crossEncoderGraph,
  decoderGraph,
  embedderGraph,
  encoderGraph,
  glinerSpanGraph,
  seq2seqDecoderGraph,
  tokenClassifierGraph,
} from './model-graphs.ts'
import type { CrossEncoderShape, EmbedderShape } from './model-graphs.ts'
import { imageTowerGraph, projectionGraph, textTowerGraph } from './tower-graphs.ts'

/** A file's content: bytes as they are, text as it is, anything else as JSON. */
export type ModelFile = Uint8Array | string | object

export async function writeModelDirectory(
  directory: string,
  files: Readonly<Record<string, ModelFile>>,
): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name)
    await mkdir(path.dirname(file), { recursive: true })
    const raw = typeof content === 'string' || content instanceof Uint8Array
    await writeFile(file, raw ? content : JSON.stringify(content))
  }
  return directory
}

const TINY_WORDS = [
  'hello',
  'world',
  '##s',
  'foo',
  'bar',
  '.',
  'alice',
  'acme',
  'corp',
  'paris',
  'works',
  'at',
  'in',
  '##y',
] as const

/** Token ids of the tiny tokenizer are the indices. */
export const TINY_VOCABULARY = [...SPECIAL_TOKENS, ...TINY_WORDS] as const

/** The tokenizer.json of a lower-casing BERT; `more` are added tokens from id 18 on. */
export function tinyTokenizer(more: readonly string[] = []): object {
  return wordPieceTokenizer(TINY_WORDS, more)
}

export const TINY_TOKENIZER_CONFIG = wordPieceConfig(512)

const BERT_CONFIG = {
  model_type: 'bert',
  hidden_size: 4,
  max_position_embeddings: 512,
  pad_token_id: 0,
  vocab_size: 18,
}

function tinyFiles(config: object = {}): Record<string, ModelFile> {
  return {
    'tokenizer.json': tinyTokenizer(),
    'tokenizer_config.json': TINY_TOKENIZER_CONFIG,
    'config.json': { ...BERT_CONFIG, ...config },
  }
}

export interface EmbedderDirectory extends EmbedderShape {
  readonly pooling?: 'cls' | 'mean' | 'max' | 'last-token'
  readonly paddingSide?: 'left' | 'right'
  readonly maxLength?: number
  /** The graph's path in the directory; default model.onnx. */
  readonly file?: string
}

const POOLING_KEY = {
  cls: 'pooling_mode_cls_token',
  mean: 'pooling_mode_mean_tokens',
  max: 'pooling_mode_max_tokens',
  'last-token': 'pooling_mode_lasttoken',
} as const

export function writeTinyEmbedder(
  directory: string,
  options: EmbedderDirectory = {},
): Promise<string> {
  const { pooling = 'mean', paddingSide = 'right', maxLength = 512, file = 'model.onnx' } = options
  return writeModelDirectory(directory, {
    ...tinyFiles({ max_position_embeddings: maxLength }),
    'tokenizer_config.json': { ...TINY_TOKENIZER_CONFIG, padding_side: paddingSide },
    '1_Pooling/config.json': { word_embedding_dimension: 4, [POOLING_KEY[pooling]]: true },
    [file]: embedderGraph(options),
  })
}

/** Images become 8 × 8 pixels; the means and deviations are three different ones. */
export const TINY_IMAGE_CONFIG = {
  do_resize: true,
  size: { shortest_edge: 8 },
  resample: 3,
  do_center_crop: true,
  crop_size: { height: 8, width: 8 },
  do_rescale: true,
  do_normalize: true,
  image_mean: [0.5, 0.25, 0.125],
  image_std: [0.5, 0.25, 0.5],
}

/** Turns [a, b, c, d] into [d, c, b, a]. */
const TEXT_PROJECTION = [
  [0, 0, 0, 1],
  [0, 0, 1, 0],
  [0, 1, 0, 0],
  [1, 0, 0, 0],
]
/** Turns [r, g, b] into [r, g, b, r + g + b]. */
const IMAGE_PROJECTION = [
  [1, 0, 0, 1],
  [0, 1, 0, 1],
  [0, 0, 1, 1],
]

/** A model of texts and images; `more` replaces files, and takes away those that are undefined. */
export function writeTinyTowers(
  directory: string,
  more: Readonly<Record<string, ModelFile | undefined>> = {},
): Promise<string> {
  const files: Readonly<Record<string, ModelFile | undefined>> = {
    ...tinyFiles({ model_type: 'clip' }),
    'preprocessor_config.json': TINY_IMAGE_CONFIG,
    'text_model.onnx': textTowerGraph(),
    'visual_model.onnx': imageTowerGraph(),
    'text_projection.onnx': projectionGraph(TEXT_PROJECTION),
    'visual_projection.onnx': projectionGraph(IMAGE_PROJECTION),
    ...more,
  }
  const present = Object.entries(files).filter(
    (entry): entry is [string, ModelFile] => entry[1] !== undefined,
  )
  return writeModelDirectory(directory, Object.fromEntries(present))
}

export function writeTinyReranker(
  directory: string,
  shape: CrossEncoderShape & { readonly file?: string } = {},
): Promise<string> {
  const { file = 'model.onnx' } = shape
  return writeModelDirectory(directory, { ...tinyFiles(), [file]: crossEncoderGraph(shape) })
}

export const NER_LABELS = ['O', 'B-PER', 'I-PER', 'B-ORG', 'I-ORG', 'B-LOC', 'I-LOC'] as const

/** alice B-PER, acme B-ORG, corp I-ORG, paris B-LOC, every other token O. */
export function writeTinyNer(directory: string): Promise<string> {
  return writeModelDirectory(directory, {
    ...tinyFiles({ id2label: Object.fromEntries(NER_LABELS.map((label, id) => [id, label])) }),
    'model.onnx': tokenClassifierGraph(NER_LABELS.length, { 10: 1, 11: 3, 12: 4, 13: 5 }),
  })
}

/** The full stop (id 9) separates. */
export function writeTinyChunker(directory: string, graph?: Uint8Array): Promise<string> {
  return writeModelDirectory(directory, {
    ...tinyFiles({ id2label: { 0: 'O', 1: 'separator' } }),
    'model.onnx': graph ?? tokenClassifierGraph(2, { 9: 1 }),
  })
}

/** A span model: added tokens a 18, b 19, <<ENT>> 20, <<SEP>> 21. */
export function writeTinyGliner(directory: string): Promise<string> {
  return writeModelDirectory(directory, {
    ...tinyFiles({ vocab_size: 22 }),
    'tokenizer.json': tinyTokenizer(['a', 'b', '<<ENT>>', '<<SEP>>']),
    'gliner_config.json': {
      max_width: 3,
      max_len: 384,
      ent_token: '<<ENT>>',
      sep_token: '<<SEP>>',
      span_mode: 'markerV0',
    },
    'model.onnx': glinerSpanGraph(),
  })
}

export interface GeneratorDirectory {
  readonly eos?: number | readonly number[]
  readonly contextLength?: number
  readonly chatTemplate?: string
  readonly toolCallFormat?: string
}

/** Contents of messages, joined by spaces: prompt "[CLS] hello" gives the ids 2 4. */
export const TINY_CHAT_TEMPLATE =
  "{{ '[CLS]' }}{% for message in messages %}{{ ' ' + message.content }}{% endfor %}"

export function writeTinyGenerator(
  directory: string,
  options: GeneratorDirectory = {},
): Promise<string> {
  const { eos = 3, contextLength = 512, chatTemplate = TINY_CHAT_TEMPLATE } = options
  const { toolCallFormat } = options
  return writeModelDirectory(directory, {
    ...tinyFiles({
      model_type: 'llama',
      num_hidden_layers: 1,
      num_attention_heads: 1,
      num_key_value_heads: 1,
      head_dim: 1,
      hidden_size: 1,
      max_position_embeddings: contextLength,
      eos_token_id: eos,
      ...(toolCallFormat === undefined ? {} : { tool_call_format: toolCallFormat }),
    }),
    'generation_config.json': { eos_token_id: eos },
    'chat_template.jinja': chatTemplate,
    'model.onnx': decoderGraph(),
  })
}

/** Source ids 2 4 3 give 9, 6, 0, 0 …; 0 ends unless `eos` says otherwise. */
export function writeTinyRewriter(
  directory: string,
  { eos = 0, maxLength = 16 }: { readonly eos?: number; readonly maxLength?: number } = {},
): Promise<string> {
  return writeModelDirectory(directory, {
    ...tinyFiles({
      model_type: 't5',
      d_kv: 1,
      d_model: 1,
      num_heads: 1,
      num_decoder_layers: 1,
      decoder_start_token_id: 0,
      eos_token_id: eos,
      vocab_size: 12,
    }),
    'seq2seq_config.json': { max_length: maxLength },
    'encoder.onnx': encoderGraph(),
    'decoder-init.onnx': seq2seqDecoderGraph('first'),
    'decoder.onnx': seq2seqDecoderGraph('later'),
  })
}
