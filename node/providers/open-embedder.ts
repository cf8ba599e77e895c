import { unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { EmbedderConfig } from './config/provider-config.ts'
import { BatchedEmbedder } from './embedding/batched-embedder.ts'
import type { EmbedProtocol } from './embedding/embed-protocol.ts'
import type { Embedder } from './contract/provider.ts'
import { bedrockEmbedding } from './wire/bedrock-embedding.ts'
import { cohereEmbedding } from './wire/cohere-embedding.ts'
import { geminiEmbedding } from './wire/gemini-embedding.ts'
import { ollamaEmbedding } from './wire/ollama-embedding.ts'
import { openaiEmbedding } from './wire/openai-embedding.ts'
import { quarryEmbedding } from './wire/quarry-embedding.ts'
import { vertexEmbedding } from './wire/vertex-embedding.ts'
import type { WireParts } from './wire/wire-parts.ts'

/** Opens an embedder. Nothing is asked of the provider until the first call. */
export function openEmbedder(config: EmbedderConfig, parts: WireParts, clock: Clock): Embedder {
  return new BatchedEmbedder(protocolOf(config, parts), clock)
}

function protocolOf(config: EmbedderConfig, parts: WireParts): EmbedProtocol {
  switch (config.provider) {
    case 'quarry':
      return quarryEmbedding(parts, config)
    case 'ollama':
      return ollamaEmbedding(parts, config)
    case 'openai':
    case 'openrouter':
      return openaiEmbedding(parts, config)
    case 'gemini':
      return geminiEmbedding(parts, config)
    case 'vertex':
      return vertexEmbedding(parts, config)
    case 'bedrock':
      return bedrockEmbedding(parts, config)
    case 'cohere':
      return cohereEmbedding(parts, config)
    default:
      return unreachable(config)
  }
}
