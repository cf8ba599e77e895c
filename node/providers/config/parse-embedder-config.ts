import { ServiceError } from '../../../lib/errors.ts'
import type { FieldReader } from './field-reader.ts'
import {
  parseBedrockPlace,
  parseByProvider,
  parseEndpoint,
  parseKeylessEndpoint,
  parseUrl,
  parseVertexPlace,
} from './parse-common.ts'
import type { FieldsParser } from './parse-common.ts'
import type { CohereEmbedding, EmbedderConfig, OpenaiEmbedderConfig } from './provider-config.ts'
import type { ProviderName } from './provider-table.ts'

/** The largest dimension of the inference API's contract. */
const DIMENSION_MAX = 65_536
const BATCH_MAX = 96

const COHERE_INPUT_TYPES = [
  'search_document',
  'search_query',
  'classification',
  'clustering',
] as const
const COHERE_TRUNCATES = ['NONE', 'START', 'END'] as const

/** By a substring of the model's name. Other models of the cloud model service have other requests. */
const BEDROCK_FAMILIES = ['titan-embed', 'cohere.embed'] as const

/**
 * Checks the configuration of an embedder, as it stands in an index. `where` is its path in the request. Throws
 * INVALID_ARGUMENT for an unknown provider, model or member. References are left as they are.
 */
export function parseEmbedderConfig(value: unknown, where: string): EmbedderConfig {
  return parseByProvider('embedder', { value, where }, PARSERS)
}

const PARSERS: Partial<Record<ProviderName, FieldsParser<EmbedderConfig>>> = {
  quarry: (fields, model) => {
    const url = parseUrl(fields) ?? parseUrl(fields, 'api_url')
    const multimodal = fields.flag('multimodal') ?? false
    return { provider: 'quarry', model, url, apiKey: undefined, multimodal }
  },
  ollama: (fields, model) => {
    checkTextOnly(fields, 'this provider')
    const dimension = parseDimension(fields)
    return { provider: 'ollama', model, ...parseKeylessEndpoint(fields), dimension }
  },
  openai: parseOpenai('openai'),
  openrouter: parseOpenai('openrouter'),
  gemini: (fields, model) => {
    checkTextOnly(fields, 'this provider')
    const dimension = parseDimension(fields)
    return { provider: 'gemini', model, ...parseEndpoint(fields), dimension }
  },
  vertex: (fields, model) => {
    if (!model.startsWith('multimodalembedding')) checkTextOnly(fields, model)
    else fields.flag('multimodal')
    const dimension = parseDimension(fields)
    return { provider: 'vertex', model, ...parseVertexPlace(fields), dimension }
  },
  bedrock: (fields, model) => {
    if (!BEDROCK_FAMILIES.some((family) => model.includes(family))) {
      const message = `${fields.at('model')}: "${model}" embeds by no known request; known are models with ${BEDROCK_FAMILIES.join(' or ')} in their names`
      throw new ServiceError('INVALID_ARGUMENT', message)
    }
    if (!model.includes('titan-embed-image')) checkTextOnly(fields, model)
    else fields.flag('multimodal')
    return {
      provider: 'bedrock',
      model,
      ...parseBedrockPlace(fields),
      dimension: parseDimension(fields),
      ...parseCohereEmbedding(fields),
      stripNewLines: fields.flag('strip_new_lines') ?? false,
      batchSize: fields.integer('batch_size', { min: 1, max: BATCH_MAX }),
    }
  },
  cohere: (fields, model) => ({
    provider: 'cohere',
    model,
    ...parseEndpoint(fields),
    ...parseCohereEmbedding(fields),
    multimodal: fields.flag('multimodal') ?? false,
  }),
}

function parseOpenai(provider: OpenaiEmbedderConfig['provider']): FieldsParser<EmbedderConfig> {
  return (fields, model) => {
    checkTextOnly(fields, 'this provider')
    const dimension = parseDimension(fields)
    return { provider, model, ...parseEndpoint(fields), dimension }
  }
}

/** Both names are in use for the dimension; one of them may be given. */
function parseDimension(fields: FieldReader): number | undefined {
  const rule = { min: 1, max: DIMENSION_MAX }
  const one = fields.integer('dimension', rule)
  const many = fields.integer('dimensions', rule)
  if (one !== undefined && many !== undefined && one !== many) {
    const message = `${fields.where}: dimension is ${one} and dimensions is ${many}; give one of them`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return one ?? many
}

/** Takes `multimodal: false`, and refuses `true`. */
function checkTextOnly(fields: FieldReader, what: string): void {
  if (fields.flag('multimodal') !== true) return
  const message = `${fields.at('multimodal')}: ${what} embeds only texts; use a summarizer for images, or a model of text and images`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

function parseCohereEmbedding(fields: FieldReader): CohereEmbedding {
  return {
    inputType: fields.choice('input_type', COHERE_INPUT_TYPES),
    truncate: fields.choice('truncate', COHERE_TRUNCATES) ?? 'END',
  }
}
