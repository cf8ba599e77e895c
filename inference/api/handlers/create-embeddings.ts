import { jsonBytesReply } from '../../../lib/http/reply.ts'
import { parseEmbedInput } from '../embed-input.ts'
import { validatedBody } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { printVectors, vectorBase64, vectorJson } from '../vector-codec.ts'

interface CreateEmbeddingsBody {
  readonly model: string
  readonly input: unknown
  readonly encoding_format: 'float' | 'base64'
  readonly dimensions: number
}

export const createEmbeddings: Handler = async (request, { service }) => {
  const body = validatedBody<CreateEmbeddingsBody>(request)
  const { model, vectors, tokens } = await service.embed.embed({
    model: body.model ?? '',
    parts: parseEmbedInput(body.input),
    truncate: true,
    dimensions: body.dimensions,
    promptName: undefined,
    signal: request.signal,
  })
  const printed = await printVectors(vectors, (vector) =>
    body.encoding_format === 'base64' ? `"${vectorBase64(vector)}"` : vectorJson(vector),
  )
  const data = printed.map(
    (embedding, index) => `{"object":"embedding","index":${index},"embedding":${embedding}}`,
  )
  const usage = JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })
  const head = `{"object":"list","data":[${data.join(',')}]`
  return jsonBytesReply(
    200,
    Buffer.from(`${head},"model":${JSON.stringify(model)},"usage":${usage}}`),
  )
}
