// The models of the cloud AI platform by :predict. Texts: {instances: [{content, task_type}]}, and
// predictions[].embeddings.values. Texts and images: {instances: [{text, image}]}, and a vector of each in one space.

import type { VertexEmbedderConfig } from '../config/provider-config.ts'
import type {
  EmbedItem,
  EmbedProtocol,
  RequestLimits,
  RequestOptions,
} from '../embedding/embed-protocol.ts'
import { refused } from '../contract/provider-error.ts'
import { AnswerValue } from './answer-reader.ts'
import { TASK_TYPES } from './gemini-embedding.ts'
import { dataUriParts, joinedParts, meanDirection, textOf } from './item-texts.ts'
import { modelPath, modelsUrl, vertexCall } from './vertex-call.ts'
import type { WireParts } from './wire-parts.ts'

const MULTIMODAL = 'multimodalembedding'
const GEMINI = 'gemini-embedding'

/** Gemini's embedders take one text; the older ones 250, and 20,000 tokens in all. */
function limitsOf(model: string): RequestLimits {
  const isOneByOne = model.startsWith(MULTIMODAL) || model.startsWith(GEMINI)
  return isOneByOne ? { itemsMax: 1, bytesMax: 256 * 1024 } : { itemsMax: 64, bytesMax: 20_000 }
}

export function vertexEmbedding(parts: WireParts, config: VertexEmbedderConfig): EmbedProtocol {
  const { model, dimension } = config
  const name = `vertex ${model}`
  const isMultimodal = model.startsWith(MULTIMODAL)
  const predict = (body: unknown, options: RequestOptions): Promise<unknown> =>
    vertexCall(parts, config, {
      name,
      ownUrl: modelsUrl,
      path: (place) => modelPath(place, { model, method: 'predict' }),
      body,
      answerBytesMax: options.answerBytesMax,
      timeoutMs: parts.timeouts.embedMs,
      signal: options.signal,
    })
  return {
    name,
    acceptsImages: isMultimodal,
    limits: limitsOf(model),
    form: 'decimal',
    dimension,
    request: async (items, options) => {
      const body = isMultimodal
        ? { instances: items.map((item) => instanceOf(item, name)), parameters: { dimension } }
        : {
            instances: items.map((item) => ({
              content: textOf(item),
              task_type: TASK_TYPES[options.use],
            })),
            parameters: { autoTruncate: true, outputDimensionality: dimension },
          }
      const answer = await predict(body, options)
      const predictions = new AnswerValue(answer, name).member('predictions').list()
      const vectors = predictions.map((each) =>
        isMultimodal ? spaceVector(each) : each.member('embeddings').member('values').vector(),
      )
      return { vectors, form: 'decimal' }
    },
  }
}

function instanceOf(item: EmbedItem, name: string): unknown {
  const joined = joinedParts(item)
  const images = joined.filter((part) => part.kind === 'image')
  if (images.length > 1) {
    throw refused(`${name}: an item has ${images.length} images; the model takes one`)
  }
  const [image] = images
  const text = textOf(item)
  const parts = image && dataUriParts(image.dataUri)
  if (image !== undefined && parts === undefined) {
    throw refused(`${name}: an image must be a data URI in base64`)
  }
  return {
    ...(text === '' && image !== undefined ? {} : { text }),
    ...(parts && { image: { bytesBase64Encoded: parts.base64, mimeType: parts.mediaType } }),
  }
}

function spaceVector(prediction: AnswerValue): Float32Array {
  const found = ['textEmbedding', 'imageEmbedding'].map((name) => prediction.member(name))
  const present = found.filter(({ isAbsent }) => !isAbsent)
  return meanDirection(
    (present.length === 0 ? found.slice(0, 1) : present).map((each) => each.vector()),
  )
}
