// Artifacts that are asked for, and found. Format: docs/reference/formats/shard-calls.md.

import type { ArtifactsAsked, FoundArtifacts } from '../../shard.ts'
import { readIndexId, writeIndexId } from './artifact-writes-codec.ts'
import { ARTIFACT_KEYS_MAX } from './call-limits.ts'
import { readDocumentKey } from './command-codec.ts'
import { malformed, type WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

/** More indexes than a table has. */
const INDEXES_MAX = 64

export function writeArtifactsAsked(out: WireWriter, { keys, indexes }: ArtifactsAsked): void {
  out.u32(indexes.length)
  for (const index of indexes) writeIndexId(out, index)
  out.u32(keys.length)
  for (const key of keys) out.key(key)
}

export function readArtifactsAsked(from: WireReader): ArtifactsAsked {
  const indexes: string[] = []
  for (let left = countOf(from, INDEXES_MAX); left > 0; left--) indexes.push(readIndexId(from))
  const keys: Buffer[] = []
  const count = countOf(from, ARTIFACT_KEYS_MAX)
  for (let left = count; left > 0; left--) keys.push(readDocumentKey(from))
  return { keys, indexes }
}

export function writeFoundArtifacts(out: WireWriter, found: readonly FoundArtifacts[]): void {
  out.u32(found.length)
  for (const artifact of found.flat()) {
    out.boolean(artifact !== undefined)
    if (artifact !== undefined) out.bytes(artifact)
  }
}

/** CORRUPTION for more documents than were asked for, and for none. */
export function readFoundArtifacts(
  from: WireReader,
  { keys, indexes }: ArtifactsAsked,
): readonly FoundArtifacts[] {
  const count = countOf(from, keys.length)
  if (count === 0 && keys.length > 0) throw malformed('artifacts of no document')
  const found: FoundArtifacts[] = []
  for (let left = count; left > 0; left--) {
    found.push(indexes.map(() => (from.boolean() ? from.bytes() : undefined)))
  }
  from.end()
  return found
}

function countOf(from: WireReader, max: number): number {
  const count = from.u32()
  if (count <= max) return count
  throw malformed(`a list of ${count} where at most ${max} may be`)
}
