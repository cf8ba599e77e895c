// POST {url}/v2/embed of Cohere.

import type { CohereEmbedderConfig } from '../config/provider-config.ts'
import { PROVIDERS } from '../config/provider-table.ts'
import type { EmbedItem, EmbedProtocol } from '../embedding/embed-protocol.ts'
import { AnswerValue } from './answer-reader.ts'
import { joinedParts, textOf } from './item-texts.ts'
import { bearer, endpointOf, keyOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

const LIMITS = { itemsMax: 96, bytesMax: 256 * 1024 }

/** By the use of a vector. */
export const INPUT_TYPES = { document: 'search_document', query: 'search_query' } as const

export function cohereEmbedding(parts: WireParts, config: CohereEmbedderConfig): EmbedProtocol {
  const name = nameOf(config)
  const { model, multimodal, inputType, truncate } = config
  return {
    name,
    acceptsImages: multimodal,
    limits: LIMITS,
    form: 'decimal',
    dimension: undefined,
    request: async (items, { use, signal, answerBytesMax }) => {
      const endpoint = await endpointOf(parts, config)
      const { keyVariable = '' } = PROVIDERS.cohere
      keyOf(endpoint, name, keyVariable)
      const answer = await parts.caller.callForJson({
        name,
        endpoint,
        path: '/v2/embed',
        headers: bearer(endpoint),
        body: {
          model,
          input_type: inputType ?? INPUT_TYPES[use],
          truncate,
          embedding_types: ['float'],
          ...inputsOf(items),
        },
        answerBytesMax,
        timeoutMs: parts.timeouts.embedMs,
        signal,
      })
      const embeddings = new AnswerValue(answer, name).member('embeddings').member('float').list()
      return { vectors: embeddings.map((each) => each.vector()), form: 'decimal' }
    },
  }
}

/** Models without images know `texts` alone. */
function inputsOf(items: readonly EmbedItem[]): object {
  const hasImages = items.some((item) => item.some(({ kind }) => kind === 'image'))
  if (!hasImages) return { texts: items.map(textOf) }
  const inputs = items.map((item) => ({
    content: joinedParts(item).map((part) =>
      part.kind === 'text'
        ? { type: 'text', text: part.text }
        : { type: 'image_url', image_url: { url: part.dataUri } },
    ),
  }))
  return { inputs }
}
