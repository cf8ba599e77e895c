// Gives the texts that indexes of vectors keep of a document the names under which they are found: the chunks of an
// index as `_chunks.<index>._content`, its description of media as `_summaries.<index>`. They come as the shard
// stores them (node/shard/following/document-chunks.ts).

import type { JsonObject, JsonValue } from '../../../document/exact-json.ts'
import { buildObject, isJsonObject, memberOf } from '../../../document/json-object.ts'
import { CHUNKS_FIELD, SUMMARIES_FIELD } from '../../../document/special-names.ts'

export function withNamedTexts(document: JsonObject): JsonObject {
  const kept = memberOf(document, CHUNKS_FIELD)
  if (kept === undefined || !isJsonObject(kept)) return document
  const chunks: (readonly [string, JsonValue])[] = []
  const summaries: (readonly [string, JsonValue])[] = []
  for (const [index, texts] of Object.entries(kept)) {
    if (!isJsonObject(texts)) continue
    const { chunks: content, summary } = texts
    if (content !== undefined) chunks.push([index, { _content: content }])
    if (summary !== undefined) summaries.push([index, summary])
  }
  const others = Object.entries(document).filter(([name]) => name !== CHUNKS_FIELD)
  return buildObject([
    ...others,
    [CHUNKS_FIELD, buildObject(chunks)],
    [SUMMARIES_FIELD, buildObject(summaries)],
  ])
}
