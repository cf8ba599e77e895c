import { bytesReply, jsonBytesReply } from '../../../lib/http/reply.ts'
import type { BytesReply } from '../../../lib/http/reply.ts'
import type { EmbedAnswer } from '../../pipelines/embed/embed-service.ts'
import { prefersJson } from '../accept-header.ts'
import { parseEmbedInput } from '../embed-input.ts'
import { parseKeepAlive } from '../keep-alive.ts'
import { validatedBody } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { printVectors, vectorBytes, vectorJson } from '../vector-codec.ts'

interface EmbedBody {
  readonly model: string
  readonly input: unknown
  readonly truncate: boolean
  readonly dimensions: number
  readonly prompt_name: string
  readonly keep_alive: string | number
}

const NS_PER_MS = 1_000_000

export const embed: Handler = async (request, { service }) => {
  const startMs = request.clock.monotonicMs()
  const body = validatedBody<EmbedBody>(request)
  const answer = await service.embed.embed({
    model: body.model ?? '',
    parts: parseEmbedInput(body.input),
    truncate: body.truncate ?? true,
    dimensions: body.dimensions,
    promptName: body.prompt_name,
    keepAliveMs: parseKeepAlive(body.keep_alive),
    signal: request.signal,
  })
  if (prefersJson(request.accept)) return jsonAnswer(answer, request.clock.monotonicMs() - startMs)
  return bytesReply(200, vectorBytes(answer.vectors, answer.dimension), [
    'Content-Type',
    'application/octet-stream',
  ])
}

/** The last three fields are what clients of a common local model server read beside the vectors. */
async function jsonAnswer(answer: EmbedAnswer, totalMs: number): Promise<BytesReply> {
  const { model, vectors, loadMs, tokens } = answer
  const rest = JSON.stringify({
    total_duration: Math.round(totalMs * NS_PER_MS),
    load_duration: Math.round(loadMs * NS_PER_MS),
    prompt_eval_count: tokens,
  })
  const embeddings = (await printVectors(vectors, vectorJson)).join(',')
  const json = `{"model":${JSON.stringify(model)},"embeddings":[${embeddings}],${rest.slice(1)}`
  return jsonBytesReply(200, Buffer.from(json))
}
