import { parseOpenaiInput } from '../embed-input.ts'
import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'
import { vectorBase64 } from '../vector-codec.ts'

interface CreateEmbeddingsBody {
  readonly model: string
  readonly input: unknown
  readonly encoding_format: 'float' | 'base64'
  readonly dimensions: number
}

export const createEmbeddings: Handler = async (request, { service }) => {
  const body = validatedBody<CreateEmbeddingsBody>(request)
  const { model, vectors, tokens, cutCount } = await service.embed.embed({
    model: body.model ?? '',
    parts: parseOpenaiInput(body.input),
    truncate: true,
    dimensions: body.dimensions,
    promptName: undefined,
    signal: request.signal,
    memory: request.memory,
  })
  const isBase64 = body.encoding_format === 'base64'
  return jsonPiecesReply({
    object: 'list',
    data: vectors.values().map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? vectorBase64(vector) : vector,
    })),
    model,
    truncated: cutCount,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  })
}
