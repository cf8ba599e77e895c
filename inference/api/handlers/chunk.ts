import { FIXED_CHUNKER } from '../../pipelines/chunk/chunk-service.ts'
import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface ChunkBody {
  readonly text: string
  readonly config: Partial<ChunkConfigBody>
}

interface ChunkConfigBody {
  readonly model: string
  readonly target_tokens: number
  readonly overlap_tokens: number
  readonly separator: string
  readonly max_chunks: number
  readonly threshold: number
}

export const chunk: Handler = async (request, { service }) => {
  const { text = '', config = {} } = validatedBody<ChunkBody>(request)
  const answer = await service.chunk.chunk({
    model: config.model ?? FIXED_CHUNKER,
    text,
    settings: settingsOf(config),
    signal: request.signal,
  })
  return jsonPiecesReply({
    chunks: answer.ranges.values().map(({ start, end }, id) => ({
      id,
      text: text.slice(start, end),
      start_char: start,
      end_char: end,
    })),
    model: answer.model,
    cache_hit: answer.isFromCache,
    truncated: answer.isCut,
  })
}

function settingsOf(config: Partial<ChunkConfigBody>) {
  return {
    ...(config.target_tokens === undefined ? {} : { targetTokens: config.target_tokens }),
    ...(config.overlap_tokens === undefined ? {} : { overlapTokens: config.overlap_tokens }),
    ...(config.separator === undefined ? {} : { separator: config.separator }),
    ...(config.max_chunks === undefined ? {} : { maxChunks: config.max_chunks }),
    ...(config.threshold === undefined ? {} : { threshold: config.threshold }),
  }
}
