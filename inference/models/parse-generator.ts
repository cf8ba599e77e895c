import type { ConfigFields } from './config-fields.ts'
import { refuse } from './model-files.ts'
import { TOOL_CALL_FORMATS } from './model-spec.ts'
import type { GeneratorSpec, SamplingDefaults, ToolCallFormat } from './model-spec.ts'
import {
  HEADS_MAX,
  LAYERS_MAX,
  SIZE_MAX,
  graphsOf,
  parseEosIds,
  parseMaxTokens,
  specBase,
} from './model-directory.ts'
import type { ModelDirectory } from './model-directory.ts'

/** Values beyond these limits are errors in a model's configuration. */
const TEMPERATURE_MAX = 100
const TOP_K_MAX = 1_000_000
const PENALTY_MIN = 0.01
const PENALTY_MAX = 100

const STEMS = ['model', 'decoder_model_merged', 'decoder_model', 'decoder']

/** One spec for each variant of the graph. */
export async function parseGenerator(directory: ModelDirectory): Promise<readonly GeneratorSpec[]> {
  const { files, config } = directory
  const generation = await files.config('generation_config.json')
  const tokenizer = await files.config('tokenizer_config.json')
  const eosIds = parseEosIds(generation, config)
  const heads = config.requiredCount('num_attention_heads', HEADS_MAX)
  const shared = {
    layerCount: config.requiredCount('num_hidden_layers', LAYERS_MAX),
    keyValueHeadCount: config.count('num_key_value_heads', HEADS_MAX) ?? heads,
    headSize: config.count('head_dim', SIZE_MAX) ?? headSizeOf(config, heads),
    eosIds,
    chatTemplate: (await files.template('chat_template.jinja')) ?? templateOf(tokenizer),
    toolCallFormat: parseToolCallFormat(config) ?? parseToolCallFormat(tokenizer),
    specialTokens: {
      bos_token: tokenOf(tokenizer, 'bos_token'),
      eos_token: tokenOf(tokenizer, 'eos_token'),
      unk_token: tokenOf(tokenizer, 'unk_token'),
      pad_token: tokenOf(tokenizer, 'pad_token'),
    },
    sampling: parseSampling(generation),
  }
  const maxTokens = await parseMaxTokens(directory)
  return graphsOf(files, STEMS).map(({ variant, file }) => ({
    kind: 'generator',
    ...specBase(directory, variant, { graphFiles: [file], maxTokens }),
    graphFile: file,
    ...shared,
  }))
}

function headSizeOf(config: ConfigFields, heads: number): number {
  const size = Math.floor(config.requiredCount('hidden_size', SIZE_MAX) / heads)
  if (size >= 1) return size
  throw refuse('config.json: hidden_size must be at least num_attention_heads')
}

/** Some models have several templates. The one named `default` is for chats. */
function templateOf(tokenizer: ConfigFields): string | undefined {
  const [only, ...others] = tokenizer.templates('chat_template')
  const template = others.find(({ name }) => name === 'default') ?? only
  return template?.text
}

/** The text of a special token; '' if the model has none. */
function tokenOf(tokenizer: ConfigFields, name: string): string {
  return tokenizer.tokenText(name) ?? ''
}

function parseToolCallFormat(fields: ConfigFields): ToolCallFormat | undefined {
  const said = fields.text('tool_call_format')
  if (said === undefined) return undefined
  const format = TOOL_CALL_FORMATS.find((known) => known === said)
  if (format !== undefined) return format
  throw refuse(`tool_call_format must be one of ${TOOL_CALL_FORMATS.join(', ')}`)
}

/** `do_sample: false` means that the likeliest token is the default. */
function parseSampling(generation: ConfigFields): SamplingDefaults {
  return {
    temperature:
      generation.flag('do_sample') === false
        ? 0
        : generation.numberWithin('temperature', [0, TEMPERATURE_MAX]),
    topP: generation.numberWithin('top_p', [0, 1]),
    topK: parseTopK(generation),
    repetitionPenalty: generation.numberWithin('repetition_penalty', [PENALTY_MIN, PENALTY_MAX]),
  }
}

/** Some configurations write -1 for all tokens. */
function parseTopK(generation: ConfigFields): number | undefined {
  const said = generation.numberWithin('top_k', [-1, TOP_K_MAX])
  if (said === undefined || said === -1) return said === undefined ? undefined : 0
  if (Number.isInteger(said)) return said
  throw refuse('generation_config.json: top_k must be an integer')
}
