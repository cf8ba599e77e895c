// POST {url}/v1beta/models/{model}:batchEmbedContents of the Gemini API.

import type { GeminiEmbedderConfig } from '../config/provider-config.ts'
import type { EmbedItem, EmbedProtocol } from '../embedding/embed-protocol.ts'
import type { EmbedUse } from '../contract/provider.ts'
import { AnswerValue } from './answer-reader.ts'
import { geminiCall } from './gemini-call.ts'
import { textOf } from './item-texts.ts'
import { nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

const LIMITS = { itemsMax: 100, bytesMax: 256 * 1024 }

/** The names that the Gemini API and Vertex share. */
export const TASK_TYPES: Readonly<Record<EmbedUse, string>> = {
  document: 'RETRIEVAL_DOCUMENT',
  query: 'RETRIEVAL_QUERY',
}

export function geminiEmbedding(parts: WireParts, config: GeminiEmbedderConfig): EmbedProtocol {
  const name = nameOf(config)
  const { dimension } = config
  const model = `models/${config.model.replace(/^models\//, '')}`
  const requestOf = (item: EmbedItem, use: EmbedUse): unknown => ({
    model,
    content: { parts: [{ text: textOf(item) }] },
    taskType: TASK_TYPES[use],
    outputDimensionality: dimension,
  })
  return {
    name,
    acceptsImages: false,
    limits: LIMITS,
    form: 'decimal',
    dimension,
    request: async (items, { use, signal, answerBytesMax }) => {
      const answer = await geminiCall(parts, config, {
        method: 'batchEmbedContents',
        body: { requests: items.map((item) => requestOf(item, use)) },
        answerBytesMax,
        timeoutMs: parts.timeouts.embedMs,
        signal,
      })
      const embeddings = new AnswerValue(answer, name).member('embeddings').list()
      return { vectors: embeddings.map((each) => each.member('values').vector()), form: 'decimal' }
    },
  }
}
