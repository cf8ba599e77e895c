// POST {url}/embeddings, as OpenAI has it and many servers after it.

import type { OpenaiEmbedderConfig } from '../config/provider-config.ts'
import { PROVIDERS } from '../config/provider-table.ts'
import type {
  EmbedItem,
  EmbedProtocol,
  EmbeddedItems,
  RequestOptions,
} from '../embedding/embed-protocol.ts'
import { unavailable } from '../contract/provider-error.ts'
import { AnswerValue } from './answer-reader.ts'
import { textOf } from './item-texts.ts'
import { bearer, endpointOf, keyOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

/** OpenAI takes 2,048 inputs and 300,000 tokens; a byte is at most a token of usual texts, seldom more. */
const LIMITS = { itemsMax: 1_024, bytesMax: 256 * 1024 }

export function openaiEmbedding(parts: WireParts, config: OpenaiEmbedderConfig): EmbedProtocol {
  const name = nameOf(config)
  return {
    name,
    acceptsImages: false,
    limits: LIMITS,
    form: 'base64',
    dimension: config.dimension,
    request: async (items, options) => {
      const body = {
        model: config.model,
        input: items.map(textOf),
        encoding_format: 'base64',
        dimensions: config.dimension,
      }
      return request(parts, { config, name, body, count: items.length }, options)
    },
  }
}

interface Asked {
  readonly config: OpenaiEmbedderConfig
  readonly name: string
  readonly body: unknown
  readonly count: EmbedItem['length']
}

async function request(
  parts: WireParts,
  { config, name, body, count }: Asked,
  { signal, answerBytesMax }: RequestOptions,
): Promise<EmbeddedItems> {
  const endpoint = await endpointOf(parts, config)
  const { keyVariable = '', url } = PROVIDERS[config.provider]
  if (endpoint.url === url) keyOf(endpoint, name, keyVariable)
  const answer = await parts.caller.callForJson({
    name,
    endpoint,
    path: `${openaiPrefix(endpoint.url)}/embeddings`,
    headers: bearer(endpoint),
    body,
    answerBytesMax,
    timeoutMs: parts.timeouts.embedMs,
    signal,
  })
  return readVectors(new AnswerValue(answer, name), { count, name })
}

/** Users write the host alone as often as its `/v1`. */
export function openaiPrefix(url: string): string {
  return new URL(url).pathname === '/' ? '/v1' : ''
}

/** Answers name the input of each vector; those without names are in order. */
function readVectors(
  answer: AnswerValue,
  { count, name }: Pick<Asked, 'count' | 'name'>,
): EmbeddedItems {
  const data = answer.member('data').list()
  const byInput = new Map<number, Float32Array>()
  let isPacked = true
  data.forEach((each, at) => {
    const index = each.member('index')
    const embedding = each.member('embedding')
    if (typeof embedding.value !== 'string') isPacked = false
    byInput.set(index.isAbsent ? at : index.position(count), embedding.vector())
  })
  if (byInput.size !== data.length) {
    throw unavailable(`${name}: it answered two vectors to one input`)
  }
  const vectors = [...byInput].toSorted(([a], [b]) => a - b).map(([, vector]) => vector)
  return { vectors, form: isPacked ? 'base64' : 'decimal' }
}
