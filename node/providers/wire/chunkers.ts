// POST {url}/api/chunk of Quarry's inference server.

import type { Clock } from '../../../lib/clock.ts'
import type { ChunkerConfig } from '../config/provider-config.ts'
import { CHUNKS_MAX, type Chunker, type TextChunk } from '../contract/provider.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import { AnswerValue } from './answer-reader.ts'
import { PacedCalls } from './paced-calls.ts'
import { endpointOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

/** The answer repeats the text, up to four times with the overlaps, and is read in one step. */
const TEXT_BYTES_MAX = 1024 * 1024
const ANSWER_BYTES_MAX = 8 * TEXT_BYTES_MAX

/** Opens a chunker. Nothing is asked of the server until the first call. */
export function openChunker(config: ChunkerConfig, wire: WireParts, clock: Clock): Chunker {
  const name = nameOf(config)
  const calls = new PacedCalls(name, clock)
  return {
    name,
    chunk: async (text, { signal }) => {
      const bytes = Buffer.byteLength(text)
      if (bytes > TEXT_BYTES_MAX) {
        throw refused(`${name}: a text has ${bytes} bytes; ${TEXT_BYTES_MAX} are chunked`)
      }
      const answer = await calls.run({ bytes, isUrgent: false, signal }, async (either) =>
        wire.caller.callForJson({
          name,
          endpoint: await endpointOf(wire, config),
          path: '/api/chunk',
          headers: {},
          body: { text, config: requestConfig(config) },
          answerBytesMax: ANSWER_BYTES_MAX,
          timeoutMs: wire.timeouts.chunkMs,
          signal: either,
        }),
      )
      return readChunks(new AnswerValue(answer, name), { text, name })
    },
    close: async () => calls.close(),
  }
}

/** Members that are undefined are left out of the request. */
function requestConfig(config: ChunkerConfig): object {
  return {
    model: config.model,
    target_tokens: config.targetTokens,
    overlap_tokens: config.overlapTokens,
    separator: config.separator,
    // Unless told, the server leaves out the end of a long text after fewer.
    max_chunks: config.chunksMax ?? CHUNKS_MAX,
    threshold: config.threshold,
  }
}

/** The texts are cut out here, so that they are what their offsets say. */
function readChunks(
  answer: AnswerValue,
  { text, name }: { readonly text: string; readonly name: string },
): readonly TextChunk[] {
  return answer
    .member('chunks')
    .list()
    .map((chunk) => {
      const start = chunk.member('start_char').position(text.length + 1)
      const end = chunk.member('end_char').position(text.length + 1)
      if (start >= end) throw unavailable(`${name}: it answered a chunk from ${start} to ${end}`)
      return { text: text.slice(start, end), start, end }
    })
}
