// The mapping of a text index as it is found on the disk, or made for a new index.

import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced } from '../../../../lib/sliced.ts'
import type { TableField } from '../../../schema/table-field.ts'
import type { TableSchema } from '../../../schema/table-schema.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import type { IndexOpening, OutdatedIndex } from '../../host/index-engine.ts'
import { FieldMapping } from '../mapping/field-mapping.ts'
import {
  readMapping,
  writeMapping,
  type OutdatedMapping,
  type SavedMapping,
} from '../mapping/saved-mapping.ts'
import { TableAnalysis } from '../mapping/table-analysis.ts'
import type { WordMemory } from '../mapping/word-memory.ts'

/** The mapping of an index that is being opened. */
export interface OpenedMapping {
  readonly schema: TableSchema | undefined
  /** It has learnt nothing yet. */
  readonly mapping: FieldMapping
  /** How many of the fields are on disk. */
  readonly savedFields: number
}

/** What a mapping is opened with: who syncs its file, and the words that its worker remembers. */
export interface MappingParts {
  readonly disk: DiskWork
  readonly words: WordMemory
}

interface MappingPlace extends MappingParts {
  readonly directory: string
}

/** A mapping that has learnt nothing yet. */
export function mappingOf(schema: TableSchema | undefined, words: WordMemory): FieldMapping {
  return new FieldMapping(schema, [], new TableAnalysis(schema, words))
}

/** CORRUPTION if it is damaged, or missing: the mapping is made before the index, so that an index without one has lost it. */
export function* openMapping(request: IndexOpening, parts: MappingParts): Paced<OpenedMapping> {
  const { source, directory } = request
  if (directory === undefined) return freshMapping(request, parts.words)
  const place = { ...parts, directory }
  const saved = readMapping(directory)
  if (saved === undefined) {
    if (source.kind === 'stored' || existsSync(path.join(directory, 'manifest'))) {
      throw new ServiceError('CORRUPTION', 'the text index lost its mapping; rebuild the index')
    }
    return yield* createMapping(place, request)
  }
  const reason = whyOutdated(saved, request.fields)
  if (saved.kind === 'saved' && reason === undefined) {
    return yield* reuseMapping(place, saved, request)
  }
  throw new ServiceError('CORRUPTION', reason ?? 'the text index is outdated')
}

function freshMapping({ source, fields }: IndexOpening, words: WordMemory): OpenedMapping {
  const schema = source.kind === 'given' ? source.schema : undefined
  return { schema, mapping: mappingOf(schema, words), savedFields: fields.length }
}

function* createMapping(
  { directory, disk, words }: MappingPlace,
  request: IndexOpening,
): Paced<OpenedMapping> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const fresh = freshMapping(request, words)
  yield* writeMapping(directory, { schema: fresh.schema, fields: request.fields }, disk)
  return fresh
}

function* reuseMapping(
  { directory, disk, words }: MappingPlace,
  saved: SavedMapping,
  { source, fields }: IndexOpening,
): Paced<OpenedMapping> {
  const schema = source.kind === 'given' ? source.schema : saved.schema
  const isSame = isDeepStrictEqual(schema, saved.schema)
  if (!isSame) yield* writeMapping(directory, { schema, fields }, disk)
  const savedFields = isSame ? saved.fields.length : fields.length
  return { schema, mapping: mappingOf(schema, words), savedFields }
}

/** Why what is on disk cannot be used and has to be built again, though it is not damaged. */
export function outdatedMapping({
  directory,
  source,
  fields,
}: IndexOpening): OutdatedIndex | undefined {
  const saved = directory === undefined ? undefined : readMapping(directory)
  const reason = saved === undefined ? undefined : whyOutdated(saved, fields)
  if (saved === undefined || reason === undefined) return undefined
  // What an earlier schema made is not built again.
  if (source.kind === 'stored') throw new ServiceError('CORRUPTION', reason)
  return { reason, fields: saved.fields }
}

/** The fields by which the index was built have to be the first ones of the table's list. */
function whyOutdated(
  saved: SavedMapping | OutdatedMapping,
  fields: readonly TableField[],
): string | undefined {
  if (saved.kind === 'outdated') {
    return `the text index was built by an earlier version of the analysis (${saved.version})`
  }
  const isBeginning = isDeepStrictEqual(fields.slice(0, saved.fields.length), saved.fields)
  return isBeginning ? undefined : 'the text index knows other fields than its table'
}
