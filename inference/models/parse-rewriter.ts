import type { ConfigFields } from './config-fields.ts'
import { refuse } from './model-files.ts'
import type { RewriterSpec, Seq2SeqFiles } from './model-spec.ts'
import {
  HEADS_MAX,
  LAYERS_MAX,
  SIZE_MAX,
  parseEosIds,
  parseMaxTokens,
  specBase,
} from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'

const LENGTH_MAX = 4_096
const LENGTH_DEFAULT = 64
const BEAMS_MAX = 32

const ENCODER_STEMS = ['encoder_model', 'encoder']
const FIRST_STEMS = ['decoder-init', 'decoder_init', 'decoder_model']
const LATER_STEMS = ['decoder_with_past_model', 'decoder']

/** One spec for each variant of the encoder. */
export async function parseRewriter(directory: ModelDirectory): Promise<readonly RewriterSpec[]> {
  const seq2seqConfig = await directory.files.config('seq2seq_config.json')
  const maxLength = seq2seqConfig.count('max_length', LENGTH_MAX) ?? LENGTH_DEFAULT
  const beamCount = seq2seqConfig.count('num_beams', BEAMS_MAX) ?? 1
  const returnCount = seq2seqConfig.count('num_return_sequences', BEAMS_MAX) ?? 1
  if (returnCount > beamCount) {
    throw refuse('seq2seq_config.json: num_return_sequences must not exceed num_beams')
  }
  const maxTokens = await parseMaxTokens(directory)
  const variants = await parseSeq2Seq(directory)
  return variants.map(({ variant, seq2seq }) => ({
    kind: 'rewriter',
    ...specBase(directory, variant, { graphFiles: graphFilesOf(seq2seq), maxTokens }),
    seq2seq,
    maxLength,
    beamCount,
    returnCount,
  }))
}

/** The graphs of one variant. */
export interface Seq2SeqVariant {
  readonly variant: string
  readonly seq2seq: Seq2SeqFiles
}

/** The files of all graphs. */
export function graphFilesOf({ encoderFile, decoder }: Seq2SeqFiles): string[] {
  return decoder.type === 'merged'
    ? [encoderFile, decoder.file]
    : [encoderFile, decoder.firstFile, decoder.laterFile]
}

/** The encoder and decoder for each variant of the encoder. */
export async function parseSeq2Seq({ files, config }: ModelDirectory): Promise<Seq2SeqVariant[]> {
  const generation = await files.config('generation_config.json')
  const eosIds = parseEosIds(generation, config)
  const start = ['decoder_start_token_id', 'pad_token_id', 'bos_token_id']
    .flatMap((name) => [...generation.ids(name), ...config.ids(name)])
    .at(0)
  if (start === undefined) throw refuse('config.json: decoder_start_token_id is missing')
  const headCount =
    config.count('decoder_attention_heads', HEADS_MAX) ??
    config.requiredCount('num_heads', HEADS_MAX)
  const shared = {
    startId: start,
    eosIds,
    headCount,
    headSize: config.count('d_kv', SIZE_MAX) ?? headSizeOf(config, headCount),
    layerCount:
      config.count('decoder_layers', LAYERS_MAX) ??
      config.count('num_decoder_layers', LAYERS_MAX) ??
      config.requiredCount('num_layers', LAYERS_MAX),
  }
  const encoders = files.graphs(ENCODER_STEMS)
  if (encoders.length === 0) throw refuse('encoder.onnx or encoder_model.onnx is missing')
  return encoders.map(({ variant, file }) => ({
    variant,
    seq2seq: { encoderFile: file, decoder: decoderOf({ files, variant }), ...shared },
  }))
}

function headSizeOf(config: ConfigFields, headCount: number): number {
  const size = Math.floor(config.requiredCount('d_model', SIZE_MAX) / headCount)
  if (size >= 1) return size
  throw refuse('config.json: d_model must be at least the number of heads')
}

function decoderOf({
  files,
  variant,
}: Pick<ModelDirectory, 'files'> & { readonly variant: string }): Seq2SeqFiles['decoder'] {
  const merged = files.graphLike(['decoder_model_merged'], variant)
  if (merged !== undefined) return { type: 'merged', file: merged }
  const firstFile = files.graphLike(FIRST_STEMS, variant)
  const laterFile = files.graphLike(LATER_STEMS, variant)
  if (firstFile !== undefined && laterFile !== undefined) {
    return { type: 'pair', firstFile, laterFile }
  }
  const wanted = 'decoder-init.onnx and decoder.onnx, or decoder_model_merged.onnx'
  throw refuse(`the decoder's graphs are missing; add ${wanted}`)
}
