// How each protocol writes a prompt of texts and images, and where its answer has the text.

import type { HttpGeneratorConfig } from '../config/provider-config.ts'
import type { PromptPart, ShownMedium } from '../contract/provider.ts'
import { refused } from '../contract/provider-error.ts'
import type { AnswerValue } from './answer-reader.ts'
import { dataUriParts } from './item-texts.ts'
import { openaiPrefix } from './openai-embedding.ts'
import type { ResolvedEndpoint } from '../access/provider-access.ts'
import { bearer } from './wire-parts.ts'

/** What a prompt is made of. */
export interface Prompt {
  /** The provider and its model, for messages. */
  readonly name: string
  readonly parts: readonly PromptPart[]
  readonly config: Pick<HttpGeneratorConfig, 'model' | 'maxTokens' | 'temperature'>
}

/** The protocol of one provider's generation. */
export interface ChatForm {
  readonly accepts: readonly ShownMedium[]
  /** Whether the provider answers nobody without a key. */
  readonly needsKey: boolean
  path(url: string, model: string): string
  headers(endpoint: ResolvedEndpoint): Readonly<Record<string, string>>
  body(prompt: Prompt): unknown
  /** The text; undefined if the answer has none. */
  text(answer: AnswerValue): string | undefined
}

/** An image, a sound or a film as its media type and its base64. */
export function imageOf(
  dataUri: string,
  name: string,
): { readonly mediaType: string; readonly base64: string } {
  const parts = dataUriParts(dataUri)
  if (parts !== undefined) return parts
  throw refused(`${name}: a medium must be a data URI in base64`)
}

function texts(parts: readonly PromptPart[]): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
}

function plainText({ value }: AnswerValue): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function firstOf(value: AnswerValue, name: string): AnswerValue {
  return value.member(name).member('0')
}

const openaiForm: ChatForm = {
  accepts: ['image'],
  needsKey: false, // many servers speak the protocol without any
  path: (url) => `${openaiPrefix(url)}/chat/completions`,
  headers: bearer,
  body: ({ parts, config: { model, maxTokens, temperature } }) => ({
    model,
    max_tokens: maxTokens,
    temperature,
    messages: [
      {
        role: 'user',
        content: parts.map((part) =>
          part.kind === 'text'
            ? { type: 'text', text: part.text }
            : { type: 'image_url', image_url: { url: part.dataUri } },
        ),
      },
    ],
  }),
  text: (answer) => plainText(firstOf(answer, 'choices').member('message').member('content')),
}

/** Our own server's models read texts, and its messages are plain. */
const quarryForm: ChatForm = {
  ...openaiForm,
  accepts: [],
  path: () => '/api/generate',
  body: ({ parts, config: { model, maxTokens, temperature } }) => ({
    model,
    max_tokens: maxTokens,
    temperature,
    messages: [{ role: 'user', content: texts(parts) }],
  }),
}

const ollamaForm: ChatForm = {
  accepts: ['image'],
  needsKey: false,
  path: () => '/api/chat',
  headers: () => ({}),
  body: ({ name, parts, config: { model, maxTokens, temperature } }) => {
    const images = parts.flatMap((part) =>
      part.kind === 'image' ? [imageOf(part.dataUri, name).base64] : [],
    )
    return {
      model,
      stream: false,
      options: { num_predict: maxTokens, temperature },
      messages: [{ role: 'user', content: texts(parts), ...(images.length > 0 && { images }) }],
    }
  },
  text: (answer) => plainText(answer.member('message').member('content')),
}

/** The same for the Gemini API and for Vertex. */
export const geminiForm: ChatForm = {
  accepts: ['image', 'audio', 'video'],
  needsKey: true,
  path: (_, model) =>
    `/v1beta/models/${encodeURIComponent(model.replace(/^models\//, ''))}:generateContent`,
  headers: ({ apiKey = '' }) => ({ 'x-goog-api-key': apiKey }),
  body: ({ name, parts, config: { maxTokens, temperature } }) => ({
    contents: [
      {
        role: 'user',
        parts: parts.map((part) => {
          if (part.kind === 'text') return { text: part.text }
          const { mediaType, base64 } = imageOf(part.dataUri, name)
          return { inlineData: { mimeType: mediaType, data: base64 } }
        }),
      },
    ],
    generationConfig: { maxOutputTokens: maxTokens, temperature },
  }),
  text: (answer) => firstOf(answer, 'candidates').member('content').member('parts').joinedTexts(),
}

const anthropicForm: ChatForm = {
  accepts: ['image'],
  needsKey: true,
  path: () => '/v1/messages',
  headers: ({ apiKey = '' }) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  body: ({ name, parts, config: { model, maxTokens, temperature } }) => ({
    model,
    max_tokens: maxTokens,
    temperature,
    messages: [
      {
        role: 'user',
        content: parts.map((part) => {
          if (part.kind === 'text') return { type: 'text', text: part.text }
          const { mediaType, base64 } = imageOf(part.dataUri, name)
          return { type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } }
        }),
      },
    ],
  }),
  text: (answer) => answer.member('content').joinedTexts(),
}

export const CHAT_FORMS: Readonly<Record<HttpGeneratorConfig['provider'], ChatForm>> = {
  quarry: quarryForm,
  ollama: ollamaForm,
  openai: openaiForm,
  openrouter: openaiForm,
  gemini: geminiForm,
  anthropic: anthropicForm,
}
