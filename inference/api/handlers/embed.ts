import type { EmbedAnswer } from '../../pipelines/embed/embed-service.ts'
import { prefersJson } from '../accept-header.ts'
import { parseEmbedInput } from '../embed-input.ts'
import { parseKeepAlive } from '../keep-alive.ts'
import type { StreamedReply } from '../../../door/replies.ts'
import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply, piecesReply } from '../pieces-reply.ts'
import { vectorBytes, vectorBytesLength } from '../vector-codec.ts'

interface EmbedBody {
  readonly model: string
  readonly input: unknown
  readonly truncate: boolean
  readonly dimensions: number
  readonly prompt_name: string
  readonly keep_alive: string | number
}

const NS_PER_MS = 1_000_000

export const embed: Handler = async (request, { service, clock }) => {
  const startMs = clock.monotonicMs()
  const body = validatedBody<EmbedBody>(request)
  const answer = await service.embed.embed({
    model: body.model ?? '',
    parts: parseEmbedInput(body.input),
    truncate: body.truncate ?? true,
    dimensions: body.dimensions,
    promptName: body.prompt_name,
    keepAliveMs: parseKeepAlive(body.keep_alive),
    signal: request.signal,
    memory: request.memory,
  })
  if (prefersJson(request.headers.accept)) return jsonAnswer(answer, clock.monotonicMs() - startMs)
  return bytesAnswer(answer)
}

function bytesAnswer({ vectors, dimension, cutCount }: EmbedAnswer): StreamedReply {
  return piecesReply({
    headers: ['Content-Type', 'application/octet-stream', 'X-Truncated', String(cutCount)],
    pieces: vectorBytes(vectors, dimension),
    bytes: vectorBytesLength(vectors.length, dimension),
  })
}

/** The last three fields are what clients of a common local model server read beside the vectors. */
function jsonAnswer(answer: EmbedAnswer, totalMs: number): StreamedReply {
  const { model, vectors, loadMs, tokens, cutCount } = answer
  return jsonPiecesReply({
    model,
    embeddings: vectors,
    truncated: cutCount,
    total_duration: Math.round(totalMs * NS_PER_MS),
    load_duration: Math.round(loadMs * NS_PER_MS),
    prompt_eval_count: tokens,
  })
}
