// The model directories that the rows serve: one shape with weights of 32 and of 8 bits, and a
// tokenizer in which every word of the texts is one token.

import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { MINILM_L6, writeBertGraph } from './bert-graph.ts'
import type { WeightFormat } from './bert-graph.ts'
import {
  SPECIAL_TOKENS,
  wordPieceConfig,
  wordPieceTokenizer,
} from '../../test/support/onnx/word-piece-tokenizer.ts'

/** Before and after the words of a text. */
export const SPECIAL_TOKENS_PER_TEXT = 2

export interface BenchModels {
  readonly modelsDir: string
  /** By the name under which the server lists the model. */
  readonly graphFiles: Readonly<Record<BenchModelName, string>>
}

export const BENCH_MODELS = { f32: 'minilm-f32', i8: 'minilm-i8' } as const
export type BenchModelName = (typeof BENCH_MODELS)[WeightFormat]

export async function writeBenchModels(modelsDir: string, seed: number): Promise<BenchModels> {
  return {
    modelsDir,
    graphFiles: {
      'minilm-f32': await writeModel(modelsDir, 'f32', seed),
      'minilm-i8': await writeModel(modelsDir, 'i8', seed),
    },
  }
}

/** The graph lies in `onnx/`, where transformers.js looks for it. */
async function writeModel(modelsDir: string, format: WeightFormat, seed: number): Promise<string> {
  const directory = path.join(modelsDir, 'embedders', BENCH_MODELS[format])
  const graphFile = path.join(directory, 'onnx/model.onnx')
  await mkdir(path.join(directory, 'onnx'), { recursive: true })
  await mkdir(path.join(directory, '1_Pooling'), { recursive: true })
  const files: Readonly<Record<string, object>> = {
    'config.json': BERT_CONFIG,
    'tokenizer.json': wordTokenizer(),
    'tokenizer_config.json': TOKENIZER_CONFIG,
    '1_Pooling/config.json': { word_embedding_dimension: 384, pooling_mode_mean_tokens: true },
  }
  for (const [name, content] of Object.entries(files)) {
    await writeFile(path.join(directory, name), JSON.stringify(content))
  }
  await writeFile(graphFile, writeBertGraph(MINILM_L6, format, seededRandom(seed)))
  return graphFile
}

const BERT_CONFIG = {
  model_type: 'bert',
  architectures: ['BertModel'],
  hidden_size: MINILM_L6.hidden,
  num_hidden_layers: MINILM_L6.layers,
  num_attention_heads: MINILM_L6.heads,
  intermediate_size: MINILM_L6.feedForward,
  vocab_size: MINILM_L6.vocabulary,
  max_position_embeddings: MINILM_L6.positions,
  pad_token_id: 0,
}

export const TOKENIZER_CONFIG = wordPieceConfig(MINILM_L6.positions)

/** A tokenizer.json of a BERT with words `w0`, `w1` … in base 36. */
export function wordTokenizer(): object {
  return wordPieceTokenizer(Array.from({ length: wordCount() }, (_, index) => wordAt(index)))
}

function wordCount(): number {
  return MINILM_L6.vocabulary - SPECIAL_TOKENS.length
}

function wordAt(index: number): string {
  return `w${index.toString(36)}`
}

/** A text of exactly `tokens` tokens, the special ones counted. No two are alike. */
export function textOf(tokens: number, random: Random): string {
  const words = Array.from({ length: tokens - SPECIAL_TOKENS_PER_TEXT }, () =>
    wordAt(Math.floor(random() * wordCount())),
  )
  return words.join(' ')
}

/** From 9 to 221 tokens, each magnitude as often as any other; 65 on average. */
export function mixedLengths(count: number, random: Random): number[] {
  return Array.from({ length: count }, () => Math.round(Math.exp(2.2 + random() * 3.2)))
}
