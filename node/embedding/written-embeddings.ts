// The `_embeddings` of a document: vectors for external indexes, by the names of those.

import { ServiceError } from '../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import type { JsonValue } from '../document/exact-json.ts'
import { JsonScanner, kindAt, readString } from '../document/json-scanner.ts'
import { encodeArtifact, type Artifact } from './artifact.ts'
import { isManaged, type EmbeddingsSettings } from './settings.ts'
import { sparseProblem } from './sparse-rules.ts'
import { parseVector, type WrittenVector } from './vector-forms.ts'

/** An index that has vectors, as its table's record has it. */
export interface EmbeddingsIndex {
  readonly id: string
  readonly settings: EmbeddingsSettings
}

/** What a write does to the artifact of its document for one index. */
export interface ArtifactWrite {
  /** The id of the index, 16 hexadecimal digits. */
  readonly index: string
  /** Encoded; its ordinal is put in when the write is applied. Undefined: the artifact goes. */
  readonly artifact: Buffer | undefined
}

/** The widest vector fits, with all digits of its numbers; it is read in two or three milliseconds. */
const VECTOR_BYTES_MAX = 512 * 1024
/** Read in about a millisecond. */
const BYTES_PER_STEP = 128 * 1024

/**
 * Reads the value of `_embeddings`, compact JSON: an object of index names and vectors, or null, which removes
 * what the document has. `indexes` are those of the table, by name. INVALID_ARGUMENT names the index and
 * what is wrong.
 */
export function* readEmbeddings(
  json: Buffer,
  indexes: ReadonlyMap<string, EmbeddingsIndex>,
): Sliced<readonly ArtifactWrite[]> {
  if (kindAt(json, 0) !== 'object') {
    throw invalid('_embeddings must be an object of vectors by the names of indexes')
  }
  const meter = new StepMeter(BYTES_PER_STEP)
  const scanner = new JsonScanner(json)
  const writes: ArtifactWrite[] = []
  scanner.enterObject()
  while (scanner.nextMember()) {
    const { nameStart, nameEnd, nameHasEscapes, position: from } = scanner
    const name = readString(json, nameStart, nameEnd, nameHasEscapes)
    const where = `_embeddings[${JSON.stringify(name.slice(0, 128))}]`
    const index = indexes.get(name) ?? unknownIndex(where, indexes)
    scanner.beginValue()
    if (!scanner.scanSome(VECTOR_BYTES_MAX)) {
      throw invalid(`${where} has more than ${VECTOR_BYTES_MAX} bytes`)
    }
    if (meter.spend(scanner.position - from)) yield
    // Vectors have no use for digits that a double lacks, so a plain parse does.
    const value: JsonValue = JSON.parse(json.toString('utf8', from, scanner.position))
    writes.push({ index: index.id, artifact: artifactOf(value, index.settings, where) })
  }
  return writes
}

function artifactOf(
  value: JsonValue,
  settings: EmbeddingsSettings,
  where: string,
): Buffer | undefined {
  if (isManaged(settings)) {
    throw invalid(`${where}: the store makes the vectors of this index; leave it out`)
  }
  if (value === null) return undefined
  const written = parseVector(value, where)
  const problem = problemOf(written, settings)
  if (problem !== undefined) throw invalid(`${where} ${problem}`)
  return encodeArtifact(artifactWith(written))
}

/** Why the index cannot have the vector. */
function problemOf(written: WrittenVector, settings: EmbeddingsSettings): string | undefined {
  if (settings.sparse) {
    if (written.kind === 'dense') return 'is dense, and the index has sparse vectors'
    return sparseProblem(written)
  }
  if (written.kind === 'sparse') return 'is sparse, and the index has dense vectors'
  const { dimension, metric } = settings
  const { vector } = written
  if (vector.length !== dimension) {
    return `has ${vector.length} numbers, and the index has vectors of ${dimension}`
  }
  if (metric !== 'cosine' || vector.some((number) => number !== 0)) return undefined
  return 'has only zeros, which have no direction that cosine could compare'
}

function artifactWith(written: WrittenVector): Artifact {
  const head = { ordinal: 0, sourceHash: undefined }
  const whole = { start: 0, end: 0 }
  if (written.kind === 'dense') {
    const { vector } = written
    return { kind: 'dense', ...head, dimension: vector.length, rows: [{ ...whole, vector }] }
  }
  const { terms, weights } = written
  return { kind: 'sparse', ...head, rows: [{ ...whole, terms, weights }] }
}

function unknownIndex(where: string, indexes: ReadonlyMap<string, EmbeddingsIndex>): never {
  const known = [...indexes.keys()]
  const choice = known.length === 0 ? 'has none' : `has ${known.join(', ')}`
  throw invalid(`${where}: the table has no index of this name that takes vectors; it ${choice}`)
}

function invalid(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', problem)
}
