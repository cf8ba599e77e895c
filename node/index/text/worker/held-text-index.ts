// A text index as a worker holds it: the engine, and the mapping that feeds it.
//
// Invariants:
//   W1  A checkpoint on disk never covers a document whose field decisions are not on disk: the
//       mapping is saved before the engine is given the documents that changed it.

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assert } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { parseExact } from '../../../document/exact-json.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { TextIndex, type TextIndexOptions } from '../engine/text-index.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import { FieldMapping } from '../mapping/field-mapping.ts'
import { unpackBatch, type DocumentBatch } from './document-batch.ts'
import type { RequestOf, SchemaSource } from './protocol.ts'
import { readMapping, writeMapping } from './saved-mapping.ts'

export class HeldTextIndex {
  readonly index: TextIndex
  readonly #directory: string | undefined
  #schema: TableSchema | undefined
  #mapping: FieldMapping
  #savedFields: number

  private constructor(
    directory: string | undefined,
    index: TextIndex,
    opened: { readonly schema: TableSchema | undefined; readonly mapping: FieldMapping },
  ) {
    this.#directory = directory
    this.index = index
    this.#schema = opened.schema
    this.#mapping = opened.mapping
    this.#savedFields = opened.mapping.decisionCount
  }

  /** CORRUPTION if something is missing or damaged. */
  static open({ directory, source }: RequestOf<'open'>, engine: EngineParts): HeldTextIndex {
    const opened = directory === undefined ? freshMapping(source) : openMapping(directory, source)
    return new HeldTextIndex(directory, TextIndex.open({ directory, ...engine }), opened)
  }

  static remove(directory: string | undefined): void {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
  }

  get mapping(): FieldMapping {
    return this.#mapping
  }

  setSchema(schema: TableSchema | undefined): void {
    this.#mapping = FieldMapping.fromJSON(schema, this.#mapping.toJSON())
    this.#schema = schema
    this.#saveMapping()
  }

  /** Steps take a millisecond or so; what a step has applied is found from then on. */
  *applyInSteps(batch: DocumentBatch): Generator<void, void> {
    let step = new Step()
    for (const { key, json, expiresAtMs } of unpackBatch(batch)) {
      if (step.isFull) {
        yield* this.#take(step, this.index.sequence)
        step = new Step()
      }
      if (json === undefined) {
        step.deletes.push(key)
        continue
      }
      const document = parseExact(asBuffer(json))
      assert(isJsonObject(document), 'a stored document is a JSON object')
      step.upserts.push(this.#mapping.mapDocument(key, document, expiresAtMs))
      step.bytes += json.length
    }
    yield* this.#take(step, batch.sequence)
  }

  /** As a flush of the engine. */
  *flushInSteps(sequence: number): Generator<void, void> {
    this.index.apply({ sequence, upserts: [], deletes: [] })
    yield* this.#endFlush() // it began before
    this.index.beginFlush()
    yield* this.#endFlush()
  }

  *#endFlush(): Generator<void, void> {
    for (; this.index.isFlushing; yield) this.index.maintain(0)
  }

  *#take(step: Step, sequence: number): Generator<void, void> {
    // Decisions are only ever added, so that their number tells whether there are new ones.
    if (this.#mapping.decisionCount !== this.#savedFields) this.#saveMapping()
    this.index.apply({ sequence, upserts: step.upserts, deletes: step.deletes })
    yield
    for (; this.index.isFull; yield) this.index.maintain(0)
  }

  #saveMapping(): void {
    const fields = this.#mapping.toJSON()
    this.#savedFields = this.#mapping.decisionCount
    if (this.#directory === undefined) return
    writeMapping(this.#directory, { schema: this.#schema, fields })
  }
}

/** What an engine is given besides its directory. */
export type EngineParts = Pick<TextIndexOptions, 'clock' | 'memory'>

const STEP_DOCUMENTS_MAX = 32
const STEP_BYTES_MAX = 32 * 1024

/** Documents that are applied together. */
class Step {
  readonly deletes: Uint8Array[] = []
  readonly upserts: IndexableDocument[] = []
  /** Of the documents' JSON. */
  bytes = 0

  get isFull(): boolean {
    const count = this.deletes.length + this.upserts.length
    return count >= STEP_DOCUMENTS_MAX || this.bytes >= STEP_BYTES_MAX
  }
}

interface OpenedMapping {
  readonly schema: TableSchema | undefined
  readonly mapping: FieldMapping
}

function freshMapping(source: SchemaSource): OpenedMapping {
  const schema = source.kind === 'given' ? source.schema : undefined
  return { schema, mapping: new FieldMapping(schema) }
}

/** The mapping is made before the index, so that an index without one has lost it. */
function openMapping(directory: string, source: SchemaSource): OpenedMapping {
  const saved = readMapping(directory)
  if (saved === undefined) {
    if (source.kind === 'stored' || existsSync(path.join(directory, 'manifest'))) {
      throw new ServiceError('CORRUPTION', 'the text index lost its mapping; rebuild the index')
    }
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const fresh = freshMapping(source)
    writeMapping(directory, { schema: fresh.schema, fields: fresh.mapping.toJSON() })
    return fresh
  }
  const schema = source.kind === 'given' ? source.schema : saved.schema
  if (!isDeepStrictEqual(schema, saved.schema)) {
    writeMapping(directory, { schema, fields: saved.fields })
  }
  return { schema, mapping: FieldMapping.fromJSON(schema, saved.fields) }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
