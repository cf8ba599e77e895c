// The indexes of a table, and the configurations that a client may ask for.

import { ServiceError } from '../../../lib/errors.ts'
import type { EmbeddingsIndex } from '../../embedding/written-embeddings.ts'
import { NO_INDEX_ID, type IndexDefinition } from '../../index/host/index-definition.ts'
import type { AnyIndexDescriptor } from '../../index/kinds/index-descriptor.ts'
import {
  descriptorOf,
  descriptorOfType,
  embeddingsOf,
  INDEX_KINDS,
  isLaterType,
  isSearchedByWords,
} from '../../index/kinds/index-kinds.ts'
import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import type { IndexConfig } from './table-answers.ts'
import type { TableRecord } from '../records/table-record.ts'

/** Every table begins with it, so that any table can be searched; it may be dropped and added again. */
const BUILT_IN_TEXT_INDEX = 'full_text_index_v0'
/** Names that begin with this are the product's own. */
const RESERVED_PREFIX = 'full_text_index'
/** Tables that begin with this are the product's own: hidden from listings, and never searched. */
export const INTERNAL_PREFIX = '_'
const INDEXES_MAX = 16
/** Short enough for a file name with a version behind it. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const TYPES = Object.values(INDEX_KINDS)
  .map(({ type }) => `"${type}"`)
  .join(' or ')

const BUILT_IN: IndexDefinition = {
  id: NO_INDEX_ID,
  kind: TEXT_INDEX.kind,
  name: BUILT_IN_TEXT_INDEX,
  memOnly: false,
}

export function indexesOf(record: TableRecord): readonly IndexDefinition[] {
  if (record.name.startsWith(INTERNAL_PREFIX)) return []
  return record.hasBuiltInIndex ? [BUILT_IN, ...record.indexes] : record.indexes
}

/** The indexes that have vectors, by name. */
export function embeddingsIndexesOf(
  indexes: readonly IndexDefinition[],
): ReadonlyMap<string, EmbeddingsIndex> {
  return new Map(
    indexes.flatMap((index) => {
      const settings = embeddingsOf(index)
      return settings === undefined ? [] : [[index.name, { id: index.id, settings }] as const]
    }),
  )
}

/** The record with one more index; undefined when it has one of that name. */
export function withIndex(record: TableRecord, index: IndexDefinition): TableRecord | undefined {
  if (indexesOf(record).some(({ name }) => name === index.name)) return undefined
  if (index.name === BUILT_IN_TEXT_INDEX) return { ...record, hasBuiltInIndex: true }
  assertIndexCount(record.indexes.length + 1)
  return { ...record, indexes: [...record.indexes, index] }
}

/** The record without the index; undefined when it has none of that name. */
export function withoutIndex(record: TableRecord, indexName: string): TableRecord | undefined {
  if (!indexesOf(record).some(({ name }) => name === indexName)) return undefined
  if (indexName === BUILT_IN_TEXT_INDEX) return { ...record, hasBuiltInIndex: false }
  return { ...record, indexes: record.indexes.filter(({ name }) => name !== indexName) }
}

/** The names of the full-text indexes; queries search the first by default. */
export function textIndexesOf(indexes: readonly IndexDefinition[]): readonly string[] {
  return indexes.filter(isSearchedByWords).map(({ name }) => name)
}

export function indexConfigOf({ name, kind, memOnly, settings }: IndexDefinition): IndexConfig {
  const shared = { name, type: typeOf(kind), ...(memOnly ? { mem_only: true } : {}) }
  return { ...shared, ...descriptorOf(kind)?.settings.show(settings) }
}

/** The name of the kind in the API. */
export function typeOf(kind: string): string {
  return descriptorOf(kind)?.type ?? kind
}

/** `indexes` of a request: by name, a configuration. `newId` makes the id of an index. */
export function parseIndexes(
  indexes: Readonly<Record<string, unknown>> | undefined,
  newId: () => string,
): readonly IndexDefinition[] {
  const parsed = Object.entries(indexes ?? {})
    .map(([name, config]) => parseIndex(name, config, newId()))
    .filter(({ name }) => name !== BUILT_IN_TEXT_INDEX) // a new table has it anyway
  assertIndexCount(parsed.length)
  return parsed
}

/** INVALID_ARGUMENT names the index and what is wrong with its configuration. */
export function parseIndex(name: string, config: unknown, id: string): IndexDefinition {
  assertIndexName(name)
  const where = `index "${name}"`
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw invalid(`${where}: the configuration must be an object with a type`)
  }
  const members: Readonly<Record<string, unknown>> = { ...config }
  const { type, name: inner, mem_only: memOnly = false, ...others } = members
  const { kind, settings: own } = parseType(type, where)
  if (inner !== undefined && inner !== name) {
    throw invalid(`${where}: name must be the one in the path or be left out`)
  }
  if (typeof memOnly !== 'boolean') throw invalid(`${where}: mem_only must be true or false`)
  if (memOnly) assertMayLiveInMemory(name, where)
  const settings = own.parse(others, where)
  return { id, kind, name, memOnly, ...(settings === undefined ? {} : { settings }) }
}

/** The kind of index that the API's type means. */
function parseType(type: unknown, where: string): AnyIndexDescriptor {
  const known = descriptorOfType(type)
  if (known !== undefined) return known
  if (isLaterType(type)) {
    throw invalid(`${where}: type "${String(type)}" is not available yet; use ${TYPES}`)
  }
  throw invalid(`${where}: type must be ${TYPES}`)
}

function assertMayLiveInMemory(name: string, where: string): void {
  if (name !== BUILT_IN_TEXT_INDEX) return
  throw invalid(`${where}: the built-in index is kept on disk; leave mem_only out`)
}

export function assertIndexName(name: string): void {
  if (name.startsWith(RESERVED_PREFIX) && name !== BUILT_IN_TEXT_INDEX) {
    throw invalid(`index names that begin with "${RESERVED_PREFIX}" are reserved; use another one`)
  }
  if (NAME.test(name)) return
  throw invalid(
    'indexName must begin with a letter or digit, have only letters, digits, ".", "_" and "-", ' +
      'and at most 128 of them',
  )
}

function assertIndexCount(count: number): void {
  if (count > INDEXES_MAX) {
    throw invalid(`a table has at most ${INDEXES_MAX} indexes of its own; drop one first`)
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
