// A text index as a worker holds it: the engine, and the mapping that feeds it.
//
// Invariants:
//   W1  A checkpoint on disk never covers a document whose field decisions are not on disk: the
//       mapping is saved before the engine is given the documents that changed it.

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assert } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { parseExact } from '../../../document/exact-json.ts'
import { isJsonObject } from '../../../document/json-object.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import { TextIndex } from '../engine/text-index.ts'
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
    this.#savedFields = fieldCountOf(opened.mapping)
  }

  /** CORRUPTION if something is missing or damaged. */
  static open({ directory, source }: RequestOf<'open'>, clock: Clock): HeldTextIndex {
    const opened = directory === undefined ? freshMapping(source) : openMapping(directory, source)
    return new HeldTextIndex(directory, TextIndex.open({ directory, clock }), opened)
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

  apply(batch: DocumentBatch): void {
    const deletes: Uint8Array[] = []
    const upserts: IndexableDocument[] = []
    for (const { key, json, expiresAtMs } of unpackBatch(batch)) {
      if (json === undefined) {
        deletes.push(key)
        continue
      }
      const document = parseExact(asBuffer(json))
      assert(isJsonObject(document), 'a stored document is a JSON object')
      upserts.push(this.#mapping.mapDocument(key, document, expiresAtMs))
    }
    if (fieldCountOf(this.#mapping) !== this.#savedFields) this.#saveMapping()
    this.index.apply({ sequence: batch.sequence, upserts, deletes })
  }

  flush(sequence: number): void {
    this.index.apply({ sequence, upserts: [], deletes: [] })
    this.index.flush()
  }

  #saveMapping(): void {
    const fields = this.#mapping.toJSON()
    this.#savedFields = Object.keys(fields.fields).length
    if (this.#directory === undefined) return
    writeMapping(this.#directory, { schema: this.#schema, fields })
  }
}

/** Decisions are only ever added, so that their number tells whether there are new ones. */
function fieldCountOf(mapping: FieldMapping): number {
  return Object.keys(mapping.toJSON().fields).length
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
