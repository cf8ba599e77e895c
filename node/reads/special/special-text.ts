// The special members of one document as JSON text, from its artifacts.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { stringifyExact, type JsonObject, type JsonValue } from '../../document/exact-json.ts'
import { buildObject, isJsonArray, isJsonObject } from '../../document/json-object.ts'
import { project, type Projection } from '../../document/projection.ts'
import { CHUNKS_FIELD, EMBEDDINGS_FIELD, SUMMARIES_FIELD } from '../../document/special-names.ts'
import { decodeArtifact, type Artifact } from '../../embedding/artifact.ts'
import type { FoundArtifacts } from '../../shard/shard.ts'

/** Characters that are written in about a millisecond. */
const LENGTH_PER_STEP = 64 * 1024
/** Numbers of a vector that are written at once. */
const NUMBERS_AT_ONCE = 2048

/** The most characters of one document's special members: thousands of vectors in decimals are that long. */
const LENGTH_MAX = 64 * 1024 * 1024
const VECTOR_MEMBER = '_embedding'

/** What one index has of the document. */
interface NamedArtifact {
  readonly name: string
  readonly artifact: Artifact
}

/**
 * The members that the projection leaves, as JSON text of an object. `names` are those of the indexes, in the
 * order of the artifacts. INVALID_ARGUMENT for more than LENGTH_MAX characters.
 */
export function* specialText(
  found: FoundArtifacts,
  names: readonly string[],
  projection: Projection,
): Sliced<string> {
  const artifacts = found.flatMap((bytes, at): NamedArtifact[] =>
    bytes === undefined
      ? []
      : [{ name: must(names[at], 'a name'), artifact: decodeArtifact(bytes) }],
  )
  yield
  const vectors: Float32Array[] = []
  const left = project(documentOf(artifacts, vectors), projection)
  const meter = new LengthMeter()
  const members: string[] = []
  for (const [name, value] of Object.entries(left)) {
    const write = writeOf(name, vectors, meter)
    members.push(`${JSON.stringify(name)}:${yield* containerText(value, write)}`)
  }
  return `{${members.join(',')}}`
}

/** In place of a vector stands its number in `vectors`: no path leads into it. */
function documentOf(artifacts: readonly NamedArtifact[], vectors: Float32Array[]): JsonObject {
  const members: readonly [string, (artifact: Artifact) => JsonValue | undefined][] = [
    [EMBEDDINGS_FIELD, (artifact) => embeddingOf(artifact, vectors)],
    [CHUNKS_FIELD, (artifact) => chunksOf(artifact, vectors)],
    [SUMMARIES_FIELD, ({ texts }) => texts?.summary],
  ]
  return buildObject(
    members.flatMap(([member, read]) => {
      const byIndex = artifacts.flatMap(({ name, artifact }) => {
        const value = read(artifact)
        return value === undefined ? [] : [[name, value] as const]
      })
      return byIndex.length === 0 ? [] : [[member, buildObject(byIndex)] as const]
    }),
  )
}

/** The vector; of a document in several chunks a list of theirs. A sparse one is an object of weights by term. */
function embeddingOf(artifact: Artifact, vectors: Float32Array[]): JsonValue | undefined {
  if (artifact.kind === 'parked') return undefined
  const rows =
    artifact.kind === 'dense'
      ? artifact.rows.map(({ vector }) => vectors.push(vector) - 1)
      : artifact.rows.map(({ terms, weights }) =>
          buildObject([...terms].map((term, at) => [String(term), weights[at] ?? 0] as const)),
        )
  return rows.length > 1 ? rows : rows[0]
}

/** Only of an index that keeps their texts. */
function chunksOf(artifact: Artifact, vectors: Float32Array[]): JsonValue | undefined {
  const chunks = artifact.texts?.chunks
  if (chunks === undefined || artifact.kind !== 'dense') return undefined
  return artifact.rows.map(({ start, end, vector }, at) => ({
    _id: at,
    _start_char: start,
    _end_char: end,
    _content: chunks[at] ?? '',
    [VECTOR_MEMBER]: vectors.push(vector) - 1,
  }))
}

type WriteLeaf = (value: JsonValue) => Sliced<string>

function writeOf(name: string, vectors: readonly Float32Array[], meter: LengthMeter): WriteLeaf {
  if (name === EMBEDDINGS_FIELD) return vectorText(vectors, meter)
  return name === CHUNKS_FIELD ? chunkText(vectors, meter) : plainText(meter)
}

/** Counts what is written. */
class LengthMeter {
  readonly #meter = new StepMeter(LENGTH_PER_STEP)
  #length = 0

  /** True means that the caller must yield. */
  spend(length: number): boolean {
    this.#length += length
    if (this.#length <= LENGTH_MAX) return this.#meter.spend(length)
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `fields: vectors and chunks of a document have more than ${LENGTH_MAX} characters; ask for one index, or ` +
        'leave the vectors out with -_chunks.*._embedding',
    )
  }
}

/** The text of an object by index names, whose values may be lists. */
function* containerText(value: JsonValue, write: WriteLeaf): Sliced<string> {
  if (!isJsonObject(value)) return yield* write(value)
  const members: string[] = []
  for (const [name, member] of Object.entries(value)) {
    members.push(`${JSON.stringify(name)}:${yield* listText(member, write)}`)
  }
  return `{${members.join(',')}}`
}

function* listText(value: JsonValue, write: WriteLeaf): Sliced<string> {
  if (!isJsonArray(value)) return yield* write(value)
  const items: string[] = []
  for (const item of value) items.push(yield* write(item))
  return `[${items.join(',')}]`
}

function plainText(meter: LengthMeter): WriteLeaf {
  return function* write(value) {
    const text = stringifyExact(value)
    if (meter.spend(text.length)) yield
    return text
  }
}

/** Each number as the double that the float32 is. */
function vectorText(vectors: readonly Float32Array[], meter: LengthMeter): WriteLeaf {
  const plain = plainText(meter)
  return function* write(value) {
    const vector = typeof value === 'number' ? vectors[value] : undefined
    if (vector === undefined) return yield* plain(value)
    const parts: string[] = []
    for (let from = 0; from < vector.length; from += NUMBERS_AT_ONCE) {
      parts.push(vector.subarray(from, from + NUMBERS_AT_ONCE).join(','))
      if (meter.spend(parts.at(-1)?.length ?? 0)) yield
    }
    return `[${parts.join(',')}]`
  }
}

/** Each member of a chunk that is left. */
function chunkText(vectors: readonly Float32Array[], meter: LengthMeter): WriteLeaf {
  const writeVector = vectorText(vectors, meter)
  const plain = plainText(meter)
  return function* write(value) {
    if (!isJsonObject(value)) return yield* plain(value)
    const members: string[] = []
    for (const [name, member] of Object.entries(value)) {
      const text = yield* name === VECTOR_MEMBER ? writeVector(member) : plain(member)
      members.push(`${JSON.stringify(name)}:${text}`)
    }
    return `{${members.join(',')}}`
  }
}
