// All providers: what each can do, where it is, and which variables of the environment stand in for absent fields.

/** A provider's name in configurations. */
export type ProviderName =
  | 'quarry'
  | 'ollama'
  | 'openai'
  | 'openrouter'
  | 'gemini'
  | 'vertex'
  | 'bedrock'
  | 'cohere'
  | 'anthropic'

/** What a model of a provider is used for. */
export type ProviderTask = 'embedder' | 'generator' | 'reranker' | 'chunker'

/** One provider. */
export interface ProviderRow {
  /** The model for each task that the provider has; `required`: a configuration must name one. */
  readonly models: Partial<Readonly<Record<ProviderTask, string>>>
  /** `local`: run by the operator, often on this machine. `hosted`: somebody else's. */
  readonly place: 'local' | 'hosted'
  /** Undefined: the official client or the location decides. */
  readonly url?: string
  /** The variable that replaces `url` for configurations without one. */
  readonly urlVariable?: string
  /** The variable that holds the key for configurations without one. */
  readonly keyVariable?: string
}

/** Means that a configuration must name a model. */
export const REQUIRED = ''

/** The embedder of an index that names none. */
const SHIPPED_EMBEDDER = 'quarry-static-en'

export const PROVIDERS: Readonly<Record<ProviderName, ProviderRow>> = {
  quarry: {
    models: {
      embedder: SHIPPED_EMBEDDER,
      generator: REQUIRED,
      reranker: REQUIRED,
      chunker: 'fixed',
    },
    place: 'local',
    url: 'http://127.0.0.1:11433',
    urlVariable: 'QUARRY_INFERENCE_URL',
  },
  ollama: {
    models: { embedder: REQUIRED, generator: REQUIRED },
    place: 'local',
    url: 'http://127.0.0.1:11434',
    urlVariable: 'OLLAMA_HOST',
  },
  openai: {
    models: { embedder: 'text-embedding-3-small', generator: REQUIRED },
    place: 'hosted',
    url: 'https://api.openai.com/v1',
    urlVariable: 'OPENAI_BASE_URL',
    keyVariable: 'OPENAI_API_KEY',
  },
  openrouter: {
    models: { embedder: 'openai/text-embedding-3-small', generator: REQUIRED },
    place: 'hosted',
    url: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
  },
  gemini: {
    models: { embedder: 'gemini-embedding-001', generator: REQUIRED },
    place: 'hosted',
    url: 'https://generativelanguage.googleapis.com',
    keyVariable: 'GEMINI_API_KEY',
  },
  vertex: {
    models: {
      embedder: 'gemini-embedding-001',
      generator: REQUIRED,
      reranker: 'semantic-ranker-default-004',
    },
    place: 'hosted',
  },
  bedrock: { models: { embedder: REQUIRED, generator: REQUIRED }, place: 'hosted' },
  cohere: {
    models: { embedder: 'embed-english-v3.0', reranker: 'rerank-english-v3.0' },
    place: 'hosted',
    url: 'https://api.cohere.com',
    keyVariable: 'COHERE_API_KEY',
  },
  anthropic: {
    models: { generator: REQUIRED },
    place: 'hosted',
    url: 'https://api.anthropic.com',
    keyVariable: 'ANTHROPIC_API_KEY',
  },
}

export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name)
}

/** The names of all providers that have a task. */
export function providersOf(task: ProviderTask): readonly ProviderName[] {
  return Object.keys(PROVIDERS)
    .filter(isProviderName)
    .filter((name) => PROVIDERS[name].models[task] !== undefined)
}
