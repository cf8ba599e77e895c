// POST {url}/api/embed of Ollama and of servers that speak as it does.

import type { OllamaEmbedderConfig } from '../config/provider-config.ts'
import type { EmbedProtocol } from '../embedding/embed-protocol.ts'
import { AnswerValue } from './answer-reader.ts'
import { textOf } from './item-texts.ts'
import { endpointOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

/** Ollama names no limits and embeds inputs one by one, so a request is kept short. */
const LIMITS = { itemsMax: 64, bytesMax: 256 * 1024 }

export function ollamaEmbedding(parts: WireParts, config: OllamaEmbedderConfig): EmbedProtocol {
  const name = nameOf(config)
  const { model, dimension } = config
  return {
    name,
    acceptsImages: false,
    limits: LIMITS,
    form: 'decimal',
    dimension,
    request: async (items, { signal, answerBytesMax }) => {
      const answer = await parts.caller.callForJson({
        name,
        endpoint: await endpointOf(parts, config),
        path: '/api/embed',
        headers: {},
        body: { model, input: items.map(textOf), truncate: true, dimensions: dimension },
        answerBytesMax,
        timeoutMs: parts.timeouts.embedMs,
        signal,
      })
      const embeddings = new AnswerValue(answer, name).member('embeddings').list()
      return { vectors: embeddings.map((each) => each.vector()), form: 'decimal' }
    },
  }
}
