// The common part of the parsers of all kinds of models.

import type { ConfigFields } from './config-fields.ts'
import { refuse } from './model-files.ts'
import type { GraphFile, ModelFiles } from './model-files.ts'

/** The directory that a parser reads. */
export interface ModelDirectory {
  readonly name: string
  readonly files: ModelFiles
  /** The fields of config.json; no fields if the file is missing. */
  readonly config: ConfigFields
}

/** The limits for a transformer's sizes in config.json. */
export const LAYERS_MAX = 1_000
export const HEADS_MAX = 10_000
export const SIZE_MAX = 1_000_000

const TOKENS_MAX = 1_000_000
const TOKENS_DEFAULT = 512
/** Model types whose positions begin after the padding id. */
const OFFSET_POSITION_TYPES: ReadonlySet<string> = new Set(['roberta', 'xlm-roberta', 'camembert'])

/** The most tokens that the model takes, from the first file that has a limit; else 512. */
export async function parseMaxTokens({ files, config }: ModelDirectory): Promise<number> {
  const sentence = await files.config('sentence_bert_config.json')
  const said = sentence.count('max_seq_length', TOKENS_MAX)
  if (said !== undefined) return said
  const positions =
    config.count('max_position_embeddings', TOKENS_MAX) ??
    config.count('n_positions', TOKENS_MAX) ??
    config.object('text_config').count('max_position_embeddings', TOKENS_MAX)
  if (positions !== undefined) {
    const isOffset = OFFSET_POSITION_TYPES.has(config.text('model_type') ?? '')
    return isOffset ? positionsAfterPadding(positions, config) : positions
  }
  // A tokenizer without a limit has a huge number here.
  const limit = (await files.config('tokenizer_config.json')).number('model_max_length')
  if (limit === undefined || limit > TOKENS_MAX) return TOKENS_DEFAULT
  if (Number.isInteger(limit) && limit >= 1) return limit
  throw refuse('tokenizer_config.json: model_max_length must be an integer from 1 on')
}

function positionsAfterPadding(positions: number, config: ConfigFields): number {
  const [padId = 1] = config.ids('pad_token_id')
  const usable = positions - (padId + 1)
  if (usable >= 1) return usable
  throw refuse('config.json: max_position_embeddings leaves no position after pad_token_id')
}

/** The ids of the tokens that end a text. */
export function parseEosIds(generation: ConfigFields, config: ConfigFields): readonly number[] {
  const said = [generation, config].map((fields) => fields.ids('eos_token_id'))
  const eosIds = said.find((ids) => ids.length > 0)
  if (eosIds === undefined) throw refuse('config.json: eos_token_id is missing')
  return eosIds
}

/** The fields that all specs have. */
export function specBase(
  { name, files }: ModelDirectory,
  variant: string,
  { graphFiles, maxTokens }: { readonly graphFiles: readonly string[]; readonly maxTokens: number },
) {
  return {
    name: variant === 'f32' ? name : `${name}-${variant}`,
    directory: files.directory,
    variant,
    fileBytes: files.bytesOf([...graphFiles, 'tokenizer.json']),
    maxTokens,
  }
}

/** One graph for each variant. Throws INVALID_ARGUMENT if the directory has none. */
export function graphsOf(files: ModelFiles, stems: readonly string[]): readonly GraphFile[] {
  const graphs = files.graphs(stems)
  if (graphs.length > 0) return graphs
  throw refuse(`it has no graph; add one of ${stems.join('.onnx, ')}.onnx`)
}
