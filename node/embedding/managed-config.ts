// The members of a configuration that say what the store embeds, and with which models.

import { unreachable } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { parseJsonPath } from '../document/json-path.ts'
import {
  WHOLE_DOCUMENT,
  type ChunkerSettings,
  type EmbeddedPart,
  type ManagedSettings,
} from './managed-settings.ts'
import { isPlainObject, type PlainMembers } from './setting-members.ts'

/** The model that the local inference server always has. */
const EMBEDDER_DEFAULT = { provider: 'quarry', model: 'quarry-static-en' } as const

/** What is embedded of a document where the client says nothing: its texts, names first, without HTML. */
const TEXTS = '{{texts this}}'

/** Where a configuration of a model may hold a key that was written plainly. */
const KEY_MEMBER = 'api_key'
const HIDDEN = '***'
/** A key of references alone shows nothing. A sealed key stands where the client wrote a plain one. */
const ONLY_REFERENCES = /^(?:\$\{(?!sealed:)[^}]*\})+$/

/** Reads the members; the caller has checked that models are objects, and paths and templates texts. */
export function parseManagedConfig(members: PlainMembers, where: string): ManagedSettings {
  const { embedder = EMBEDDER_DEFAULT, summarizer, chunker } = members
  return {
    source: parseSource(members, where),
    embedder: parseModel(embedder, 'embedder', where),
    ...(chunker === undefined ? {} : { chunker: parseChunker(chunker, where) }),
    ...(summarizer === undefined
      ? {}
      : { summarizer: parseModel(summarizer, 'summarizer', where) }),
  }
}

/** The members that make these settings. */
export function showManagedConfig(settings: ManagedSettings): PlainMembers {
  const { source, embedder, chunker, summarizer } = settings
  return {
    ...showSource(source),
    embedder: withoutKey(embedder),
    ...(summarizer === undefined ? {} : { summarizer: withoutKey(summarizer) }),
    ...(chunker === undefined ? {} : { chunker: showChunker(chunker) }),
  }
}

function parseSource({ field, template }: PlainMembers, where: string): EmbeddedPart {
  if (field !== undefined && template !== undefined) {
    throw invalid(where, 'field and template exclude each other; give one of them')
  }
  if (typeof template === 'string') return { kind: 'template', template }
  if (typeof field !== 'string') return { kind: 'template', template: TEXTS }
  parseJsonPath(field, `${where}: field`)
  return { kind: 'field', path: field }
}

function showSource(source: EmbeddedPart): PlainMembers {
  switch (source.kind) {
    case 'field':
      return { field: source.path }
    case 'template':
      return { template: source.template }
    case 'document':
      return { template: WHOLE_DOCUMENT }
    default:
      return unreachable(source)
  }
}

function parseChunker(value: unknown, where: string): ChunkerSettings {
  const {
    store_chunks: storeChunks = false,
    full_text_index: fullText,
    ...config
  } = parseModel(value, 'chunker', where)
  if (typeof storeChunks !== 'boolean') {
    throw invalid(where, 'chunker.store_chunks must be true or false')
  }
  const hasSettings = isPlainObject(fullText) && Object.keys(fullText).length > 0
  if (fullText !== undefined && (!isPlainObject(fullText) || hasSettings)) {
    throw invalid(where, 'chunker.full_text_index must be {}, or be left out')
  }
  return { config, storeChunks, fullText: fullText !== undefined }
}

function showChunker({ config, storeChunks, fullText }: ChunkerSettings): PlainMembers {
  const index = fullText ? { full_text_index: {} } : {}
  return { ...withoutKey(config), store_chunks: storeChunks, ...index }
}

/** A configuration that a client read from an answer is without its key. */
function parseModel(value: unknown, name: string, where: string): PlainMembers {
  if (!isPlainObject(value)) throw invalid(where, `${name} must be an object`)
  if (value[KEY_MEMBER] !== HIDDEN) return value
  throw invalid(
    where,
    `${name}.${KEY_MEMBER}: "${HIDDEN}" stands for a key that answers do not show`,
  )
}

function withoutKey(config: PlainMembers): PlainMembers {
  const key = config[KEY_MEMBER]
  const isPlain = typeof key === 'string' && !ONLY_REFERENCES.test(key)
  return isPlain ? { ...config, [KEY_MEMBER]: HIDDEN } : config
}

function invalid(where: string, problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
