import { unreachable } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import type {
  BedrockGeneratorConfig,
  GeneratorConfig,
  HttpGeneratorConfig,
  VertexGeneratorConfig,
} from '../config/provider-config.ts'
import { PROVIDERS } from '../config/provider-table.ts'
import type { Generator, PromptPart, ShownMedium } from '../contract/provider.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import { bytesOfItem } from '../embedding/item-batches.ts'
import { AnswerValue } from './answer-reader.ts'
import { CHAT_FORMS, geminiForm, imageOf } from './chat-forms.ts'
import { PacedCalls, checkParts } from './paced-calls.ts'
import { modelPath, modelsUrl, vertexCall } from './vertex-call.ts'
import { TEXT_ANSWER_BYTES_MAX, endpointOf, keyOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

/** The text that a model continues a prompt with; undefined: the answer has none. */
type Continue = (parts: readonly PromptPart[], signal: AbortSignal) => Promise<string | undefined>

interface Continuation {
  readonly accepts: readonly ShownMedium[]
  readonly run: Continue
}

/** Opens a generator. Nothing is asked of the provider until the first call. */
export function openGenerator(config: GeneratorConfig, wire: WireParts, clock: Clock): Generator {
  const name = nameOf(config)
  const { accepts, run } = continuationOf(config, wire)
  const calls = new PacedCalls(name, clock)
  return {
    name,
    accepts,
    generate: async (parts, { signal }) => {
      checkParts(parts, { name, accepts })
      const call = { bytes: bytesOfItem(parts), isUrgent: false, signal }
      const text = await calls.run(call, (either) => run(parts, either))
      if (text !== undefined && text.trim() !== '') return text
      throw unavailable(`${name}: it answered no text`)
    },
    close: async () => calls.close(),
  }
}

function continuationOf(config: GeneratorConfig, wire: WireParts): Continuation {
  switch (config.provider) {
    case 'vertex':
      return { accepts: geminiForm.accepts, run: vertexContinue(config, wire) }
    case 'bedrock':
      return { accepts: ['image'], run: bedrockContinue(config, wire) }
    case 'quarry':
    case 'ollama':
    case 'openai':
    case 'openrouter':
    case 'gemini':
    case 'anthropic': {
      const { accepts } = CHAT_FORMS[config.provider]
      return { accepts, run: httpContinue(config, wire) }
    }
    default:
      return unreachable(config)
  }
}

function httpContinue(config: HttpGeneratorConfig, wire: WireParts): Continue {
  const name = nameOf(config)
  const form = CHAT_FORMS[config.provider]
  return async (parts, signal) => {
    const endpoint = await endpointOf(wire, config)
    const { keyVariable = '', url } = PROVIDERS[config.provider]
    const isOwn = PROVIDERS[config.provider].place === 'hosted' && endpoint.url === url
    if (form.needsKey || isOwn) keyOf(endpoint, name, keyVariable)
    const answer = await wire.caller.callForJson({
      name,
      endpoint,
      path: form.path(endpoint.url, config.model),
      headers: form.headers(endpoint),
      body: form.body({ name, parts, config }),
      answerBytesMax: TEXT_ANSWER_BYTES_MAX,
      timeoutMs: wire.timeouts.generateMs,
      signal,
    })
    return form.text(new AnswerValue(answer, name))
  }
}

function vertexContinue(config: VertexGeneratorConfig, wire: WireParts): Continue {
  const name = nameOf({ ...config, provider: 'vertex' })
  return async (parts, signal) => {
    const { model } = config
    const answer = await vertexCall(wire, config, {
      name,
      ownUrl: modelsUrl,
      path: (place) => modelPath(place, { model, method: 'generateContent' }),
      body: geminiForm.body({ name, parts, config }),
      answerBytesMax: TEXT_ANSWER_BYTES_MAX,
      timeoutMs: wire.timeouts.generateMs,
      signal,
    })
    return geminiForm.text(new AnswerValue(answer, name))
  }
}

/** The images that Converse takes, by their media types. */
const BEDROCK_IMAGES = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
} as const

function bedrockContinue(config: BedrockGeneratorConfig, wire: WireParts): Continue {
  const name = nameOf(config)
  const { model: modelId, maxTokens, temperature } = config
  const inferenceConfig = { maxTokens, ...(temperature !== undefined && { temperature }) }
  return async (parts, signal) => {
    const content = parts.map((part) =>
      part.kind === 'text' ? { text: part.text } : { image: bedrockImage(part.dataUri, name) },
    )
    const messages = [{ role: 'user' as const, content }]
    const { output } = await wire.bedrock.run(wire, config, {
      name,
      signal,
      send: (client, { ConverseCommand }, options) =>
        client.send(new ConverseCommand({ modelId, messages, inferenceConfig }), options),
    })
    return output?.message?.content?.find(({ text }) => text !== undefined)?.text
  }
}

function bedrockImage(dataUri: string, name: string) {
  const { mediaType, base64 } = imageOf(dataUri, name)
  const found = Object.entries(BEDROCK_IMAGES).find(([type]) => type === mediaType.toLowerCase())
  if (found === undefined) {
    throw refused(
      `${name}: ${mediaType} is not read; use ${Object.keys(BEDROCK_IMAGES).join(', ')}`,
    )
  }
  return { format: found[1], source: { bytes: Buffer.from(base64, 'base64') } }
}
