import { parseEmbedInput } from '../embed-input.ts'
import { parseKeepAlive } from '../keep-alive.ts'
import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface EmbedPromptBody {
  readonly model: string
  readonly prompt: string
  readonly keep_alive: string | number
}

export const embedPrompt: Handler = async (request, { service }) => {
  const body = validatedBody<EmbedPromptBody>(request)
  const { vectors, cutCount } = await service.embed.embed({
    model: body.model ?? '',
    parts: parseEmbedInput(body.prompt),
    truncate: true,
    dimensions: undefined,
    promptName: undefined,
    keepAliveMs: parseKeepAlive(body.keep_alive),
    signal: request.signal,
    memory: request.memory,
  })
  return jsonPiecesReply({ embedding: vectors[0], truncated: cutCount })
}
