import { decodeArtifact, encodeArtifact } from '../../node/embedding/artifact.ts'
import type { ArtifactWrite } from '../../node/embedding/written-embeddings.ts'

/** A write of one vector, of the dimension of the numbers. */
export function vectorWrite(index: string, ...numbers: readonly number[]): ArtifactWrite {
  const rows = [{ start: 0, end: 0, vector: Float32Array.from(numbers) }]
  const head = { kind: 'dense', ordinal: 0, sourceHash: undefined } as const
  return { index, artifact: encodeArtifact({ ...head, dimension: numbers.length, rows }) }
}

/** The numbers of an artifact of one vector; undefined for anything else. */
export function vectorIn(bytes: Uint8Array | undefined): readonly number[] | undefined {
  const artifact = bytes && decodeArtifact(bytes)
  return artifact?.kind === 'dense' ? [...(artifact.rows[0]?.vector ?? [])] : undefined
}
