// The configurations of all tasks but embedding.

import { CHUNKS_MAX } from '../contract/provider.ts'
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
import type {
  ChunkerConfig,
  GenerationConfig,
  GeneratorConfig,
  HttpGeneratorConfig,
  RerankerConfig,
} from './provider-config.ts'

const TOKENS_MAX = 65_536
const ANSWER_TOKENS_DEFAULT = 1_024
/** The limits of the inference API's contract. */
const TARGET_TOKENS_MAX = 8_192
const OVERLAP_TOKENS_MAX = 4_096
const TEMPERATURE_MAX = 2

/** Checks the configuration of a summarizer. Throws as `parseEmbedderConfig` does. */
export function parseGeneratorConfig(value: unknown, where: string): GeneratorConfig {
  return parseByProvider<GeneratorConfig>(
    'generator',
    { value, where },
    {
      quarry: overHttp('quarry', parseKeylessEndpoint),
      ollama: overHttp('ollama', parseKeylessEndpoint),
      openai: overHttp('openai', parseEndpoint),
      openrouter: overHttp('openrouter', parseEndpoint),
      gemini: overHttp('gemini', parseEndpoint),
      anthropic: overHttp('anthropic', parseEndpoint),
      vertex: (fields, model) => ({
        provider: 'vertex',
        model,
        ...parseVertexPlace(fields),
        ...parseGeneration(fields),
      }),
      bedrock: (fields, model) => ({
        provider: 'bedrock',
        model,
        ...parseBedrockPlace(fields),
        ...parseGeneration(fields),
      }),
    },
  )
}

function overHttp(
  provider: HttpGeneratorConfig['provider'],
  parsePlace: typeof parseEndpoint,
): FieldsParser<GeneratorConfig> {
  return (fields, model) => ({
    provider,
    model,
    ...parsePlace(fields),
    ...parseGeneration(fields),
  })
}

function parseGeneration(fields: FieldReader): GenerationConfig {
  return {
    maxTokens: fields.integer('max_tokens', { min: 1, max: TOKENS_MAX }) ?? ANSWER_TOKENS_DEFAULT,
    temperature: fields.number('temperature', { min: 0, max: TEMPERATURE_MAX }),
  }
}

/**
 * Checks the provider's part of a query's reranker. The caller has taken `field` and `template` out, and how
 * many hits are kept (`top_n`). Throws as `parseEmbedderConfig` does.
 */
export function parseRerankerConfig(value: unknown, where: string): RerankerConfig {
  return parseByProvider<RerankerConfig>(
    'reranker',
    { value, where },
    {
      quarry: (fields, model) => ({ provider: 'quarry', model, ...parseKeylessEndpoint(fields) }),
      cohere: (fields, model) => ({
        provider: 'cohere',
        model,
        ...parseEndpoint(fields),
        tokensPerDocumentMax: fields.integer('max_tokens_per_doc', { min: 1, max: TOKENS_MAX }),
      }),
      vertex: (fields, model) => ({ provider: 'vertex', model, ...parseVertexPlace(fields) }),
    },
  )
}

/**
 * Checks the provider's part of an index's chunker. The caller has taken `store_chunks` and
 * `full_text_index` out. Throws as `parseEmbedderConfig` does.
 */
export function parseChunkerConfig(value: unknown, where: string): ChunkerConfig {
  return parseByProvider<ChunkerConfig>(
    'chunker',
    { value, where },
    {
      quarry: (fields, model) => {
        const text = fields.object('text')
        const config: ChunkerConfig = {
          provider: 'quarry',
          model,
          url: parseUrl(fields) ?? parseUrl(fields, 'api_url'),
          apiKey: undefined,
          targetTokens: text.integer('target_tokens', { min: 1, max: TARGET_TOKENS_MAX }),
          overlapTokens: text.integer('overlap_tokens', { min: 0, max: OVERLAP_TOKENS_MAX }),
          separator: text.text('separator'),
          chunksMax: fields.integer('max_chunks', { min: 1, max: CHUNKS_MAX }),
          threshold: fields.number('threshold', { min: 0, max: 1 }),
        }
        text.finish('the text of a chunker')
        return config
      },
    },
  )
}
