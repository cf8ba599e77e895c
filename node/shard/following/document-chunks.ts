// What a full-text index is given of a document: its JSON and, in place of members that no client may write, the
// texts that indexes of vectors keep of it. They stay as they are stored, because parsing them takes steps, which
// the worker takes (node/index/text/hosted/document-texts.ts):
//
//   {…body, "_chunks": {"<index>": {"chunks": […], "summary": "…"}}}

import { textsOfArtifact } from '../../embedding/artifact.ts'
import { CHUNKS_FIELD } from '../../document/special-names.ts'

const EMPTY_OBJECT_BYTES = 2

/** An index, and what it keeps of the document. */
export interface ChunkedArtifact {
  readonly name: string
  readonly artifact: Buffer
}

/** `json` is a compact object. */
export function withChunkTexts(json: Buffer, artifacts: readonly ChunkedArtifact[]): Buffer {
  const members = artifacts.flatMap(({ name, artifact }, at) => {
    const before = `${at === 0 ? '' : ','}${JSON.stringify(name)}:`
    return [Buffer.from(before), textsOfArtifact(artifact)]
  })
  if (members.length === 0) return json
  const comma = json.length === EMPTY_OBJECT_BYTES ? '' : ','
  const start = Buffer.from(`${comma}${JSON.stringify(CHUNKS_FIELD)}:{`)
  return Buffer.concat([json.subarray(0, -1), start, ...members, Buffer.from('}}')])
}
