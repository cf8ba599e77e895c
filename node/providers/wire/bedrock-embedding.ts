// Models of the cloud model service by InvokeModel. Each family has its own bodies: Titan embeds one text, or a text
// with an image; Cohere's models embed up to 96 texts.

import type { BedrockEmbedderConfig } from '../config/provider-config.ts'
import type { EmbedItem, EmbedProtocol, RequestOptions } from '../embedding/embed-protocol.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import { AnswerValue } from './answer-reader.ts'
import { INPUT_TYPES } from './cohere-embedding.ts'
import { dataUriParts, textOf } from './item-texts.ts'
import type { WireParts } from './wire-parts.ts'

/** The limit of Cohere's models. */
const COHERE_ITEMS_MAX = 96
const BYTES_MAX = 256 * 1024

type Body = Readonly<Record<string, unknown>>

/** How one family of models is asked. */
interface Family {
  readonly acceptsImages: boolean
  readonly itemsMax: number
  body(items: readonly EmbedItem[], use: RequestOptions['use']): Body
  vectors(answer: AnswerValue): readonly Float32Array[]
}

export function bedrockEmbedding(parts: WireParts, config: BedrockEmbedderConfig): EmbedProtocol {
  const { model, dimension } = config
  const name = `bedrock ${model}`
  const family = familyOf(config, name)
  return {
    name,
    acceptsImages: family.acceptsImages,
    limits: { itemsMax: config.batchSize ?? family.itemsMax, bytesMax: BYTES_MAX },
    form: 'decimal',
    dimension,
    request: async (items, { use, signal }) => {
      const body = JSON.stringify(family.body(items, use))
      const { body: answer } = await parts.bedrock.run(parts, config, {
        name,
        signal,
        send: (client, { InvokeModelCommand }, options) => {
          const json = { contentType: 'application/json', accept: 'application/json' }
          return client.send(new InvokeModelCommand({ modelId: model, body, ...json }), options)
        },
      })
      return {
        vectors: family.vectors(new AnswerValue(parse(answer, name), name)),
        form: 'decimal',
      }
    },
  }
}

function familyOf(config: BedrockEmbedderConfig, name: string): Family {
  const { model, dimension, stripNewLines } = config
  const text = (item: EmbedItem): string =>
    stripNewLines ? textOf(item).replaceAll(/\s*\n\s*/g, ' ') : textOf(item)
  if (model.includes('cohere.embed')) return cohereFamily(config, text)
  const isImages = model.includes('titan-embed-image')
  const isFirst = model.includes('titan-embed-text-v1') || model.includes('titan-embed-g1')
  return {
    acceptsImages: isImages,
    itemsMax: 1,
    body: ([item = []]) => {
      if (isImages) return imageBody(item, { text: text(item), dimension, name })
      // The first version has one dimension and takes no member for it.
      return isFirst
        ? { inputText: text(item) }
        : { inputText: text(item), dimensions: dimension, normalize: true }
    },
    vectors: (answer) => [answer.member('embedding').vector()],
  }
}

function cohereFamily(
  { inputType, truncate, dimension }: BedrockEmbedderConfig,
  text: (item: EmbedItem) => string,
): Family {
  return {
    acceptsImages: false,
    itemsMax: COHERE_ITEMS_MAX,
    body: (items, use) => ({
      texts: items.map(text),
      input_type: inputType ?? INPUT_TYPES[use],
      truncate,
      output_dimension: dimension,
    }),
    // A list, or a list for each type of number.
    vectors: (answer) => {
      const embeddings = answer.member('embeddings')
      const lists = Array.isArray(embeddings.value) ? embeddings : embeddings.member('float')
      return lists.list().map((each) => each.vector())
    },
  }
}

function imageBody(
  item: EmbedItem,
  {
    text,
    dimension,
    name,
  }: { readonly text: string; readonly dimension: number | undefined; readonly name: string },
): Body {
  const images = item.flatMap((part) => (part.kind === 'image' ? [part.dataUri] : []))
  if (images.length > 1) {
    throw refused(`${name}: an item has ${images.length} images; the model takes one`)
  }
  const [uri] = images
  const image = uri === undefined ? undefined : dataUriParts(uri)
  if (uri !== undefined && image === undefined) {
    throw refused(`${name}: an image must be a data URI in base64`)
  }
  return {
    ...(text === '' ? {} : { inputText: text }),
    ...(image && { inputImage: image.base64 }),
    ...(dimension !== undefined && { embeddingConfig: { outputEmbeddingLength: dimension } }),
  }
}

function parse(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    throw unavailable(`${name}: the answer is not JSON`)
  }
}
