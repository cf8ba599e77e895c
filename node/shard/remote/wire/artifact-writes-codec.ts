// What a write does to artifacts, as one node sends it to another. Format: docs/reference/formats/shard-calls.md.

import { decodeArtifact } from '../../../embedding/artifact.ts'
import type { ArtifactWrite } from '../../../embedding/written-embeddings.ts'
import type { WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

const INDEX_ID_BYTES = 8

export function writeArtifacts(out: WireWriter, artifacts: readonly ArtifactWrite[]): void {
  out.u32(artifacts.length)
  for (const { index, artifact } of artifacts) {
    writeIndexId(out, index).boolean(artifact !== undefined)
    if (artifact !== undefined) out.bytes(artifact)
  }
}

/** An index takes for granted that its artifacts can be read. CORRUPTION for one that cannot. */
export function readArtifacts(from: WireReader): readonly ArtifactWrite[] {
  const artifacts: ArtifactWrite[] = []
  for (let left = from.u32(); left > 0; left--) {
    const index = readIndexId(from)
    const artifact = from.boolean() ? from.bytes() : undefined
    if (artifact !== undefined) decodeArtifact(artifact)
    artifacts.push({ index, artifact })
  }
  return artifacts
}

export function writeIndexId(out: WireWriter, index: string): WireWriter {
  return out.raw(Buffer.from(index, 'hex'))
}

export function readIndexId(from: WireReader): string {
  return from.raw(INDEX_ID_BYTES).toString('hex')
}
