// What configurations say, parsed. Texts that may hold references hold them still.

import type { ProviderName } from './provider-table.ts'

/** How to reach a provider over plain HTTP. Undefined: the provider's default, or its variable. */
export interface EndpointConfig {
  readonly url: string | undefined
  readonly apiKey: string | undefined
}

/** A project of the cloud AI platform. Its identity comes from the node's surroundings. */
export interface VertexPlace {
  readonly projectId: string | undefined
  readonly location: string
  readonly url: string | undefined
}

/** A region of the cloud model service. Its identity comes from the node's surroundings. */
export interface BedrockPlace {
  readonly region: string | undefined
  readonly url: string | undefined
}

interface ModelConfig<Provider extends ProviderName> {
  readonly provider: Provider
  readonly model: string
}

/** The dimension that the model shall answer; undefined: its own. */
interface DimensionConfig {
  readonly dimension: number | undefined
}

export type CohereInputType = 'search_document' | 'search_query' | 'classification' | 'clustering'
export type CohereTruncate = 'NONE' | 'START' | 'END'

/** How the models of Cohere embed. `inputType` undefined: by the use of the vector. */
export interface CohereEmbedding {
  readonly inputType: CohereInputType | undefined
  readonly truncate: CohereTruncate
}

export type QuarryEmbedderConfig = ModelConfig<'quarry'> &
  EndpointConfig & { readonly multimodal: boolean }
export type OllamaEmbedderConfig = ModelConfig<'ollama'> & EndpointConfig & DimensionConfig
export type OpenaiEmbedderConfig = ModelConfig<'openai' | 'openrouter'> &
  EndpointConfig &
  DimensionConfig
export type GeminiEmbedderConfig = ModelConfig<'gemini'> & EndpointConfig & DimensionConfig
export type VertexEmbedderConfig = ModelConfig<'vertex'> & VertexPlace & DimensionConfig
export type CohereEmbedderConfig = ModelConfig<'cohere'> &
  EndpointConfig &
  CohereEmbedding & { readonly multimodal: boolean }
export type BedrockEmbedderConfig = ModelConfig<'bedrock'> &
  BedrockPlace &
  DimensionConfig &
  CohereEmbedding & { readonly stripNewLines: boolean; readonly batchSize: number | undefined }

/** The embedder of an index. */
export type EmbedderConfig =
  | QuarryEmbedderConfig
  | OllamaEmbedderConfig
  | OpenaiEmbedderConfig
  | GeminiEmbedderConfig
  | VertexEmbedderConfig
  | BedrockEmbedderConfig
  | CohereEmbedderConfig

/** The limits of a generated text. Undefined: the model's own. */
export interface GenerationConfig {
  readonly maxTokens: number
  readonly temperature: number | undefined
}

export type HttpGeneratorConfig = ModelConfig<
  'quarry' | 'ollama' | 'openai' | 'openrouter' | 'gemini' | 'anthropic'
> &
  EndpointConfig &
  GenerationConfig
export type VertexGeneratorConfig = ModelConfig<'vertex'> & VertexPlace & GenerationConfig
export type BedrockGeneratorConfig = ModelConfig<'bedrock'> & BedrockPlace & GenerationConfig

/** The summarizer of an index. */
export type GeneratorConfig = HttpGeneratorConfig | VertexGeneratorConfig | BedrockGeneratorConfig

export type QuarryRerankerConfig = ModelConfig<'quarry'> & EndpointConfig
export type CohereRerankerConfig = ModelConfig<'cohere'> &
  EndpointConfig & { readonly tokensPerDocumentMax: number | undefined }
export type VertexRerankerConfig = ModelConfig<'vertex'> & VertexPlace

/** The reranker of a query. */
export type RerankerConfig = QuarryRerankerConfig | CohereRerankerConfig | VertexRerankerConfig

/** The chunker of an index. Undefined: the chunker's own default. */
export type ChunkerConfig = ModelConfig<'quarry'> &
  EndpointConfig & {
    readonly targetTokens: number | undefined
    readonly overlapTokens: number | undefined
    readonly separator: string | undefined
    /** A text has this number of chunks at most; the rest of it is left out. Undefined: nothing is. */
    readonly chunksMax: number | undefined
    readonly threshold: number | undefined
  }
