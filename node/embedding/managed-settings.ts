// What an index has set whose vectors the store makes: what it embeds of a document, and the models it asks.

import { failSetting, isPlainObject, membersOf, type PlainMembers } from './setting-members.ts'

/** What is embedded of each document. */
export type EmbeddedPart =
  /** All of it, as WHOLE_DOCUMENT writes it. No new index has it: those of earlier versions keep what their vectors are of. */
  | { readonly kind: 'document' }
  /** The string at a path (node/document/json-path.ts). */
  | { readonly kind: 'field'; readonly path: string }
  /** What a template makes of it (node/template). */
  | { readonly kind: 'template'; readonly template: string }

/** The template that makes what `document` means. */
export const WHOLE_DOCUMENT = '{{encodeToon this}}'

/** How texts are cut, so that each part gets a vector of its own. */
export interface ChunkerSettings {
  readonly config: PlainMembers
  /** Whether the texts of chunks are kept beside their vectors. */
  readonly storeChunks: boolean
  /** Whether full-text indexes find documents by their chunks, too. */
  readonly fullText: boolean
}

/**
 * Configurations of models are the plain JSON that a client wrote, with its references `${…}` unresolved;
 * node/providers/config reads them.
 */
export interface ManagedSettings {
  readonly source: EmbeddedPart
  readonly embedder: PlainMembers
  readonly chunker?: ChunkerSettings
  /** Describes the media of documents, so that a model of texts can embed them. */
  readonly summarizer?: PlainMembers
}

/** Reads the settings in a table's record; CORRUPTION for anything that was never written there. */
export function readManagedSettings(settings: PlainMembers): ManagedSettings {
  const { source, embedder, chunker, summarizer } = settings
  return {
    source: readSource(membersOf(source, 'source')),
    embedder: membersOf(embedder, 'embedder'),
    ...(chunker === undefined ? {} : { chunker: readChunker(membersOf(chunker, 'chunker')) }),
    ...(summarizer === undefined ? {} : { summarizer: membersOf(summarizer, 'summarizer') }),
  }
}

function readSource({ kind, path, template }: PlainMembers): EmbeddedPart {
  if (kind === 'document') return { kind }
  if (kind === 'field' && typeof path === 'string') return { kind, path }
  if (kind === 'template' && typeof template === 'string') return { kind, template }
  return failSetting('source')
}

function readChunker({ config, storeChunks, fullText }: PlainMembers): ChunkerSettings {
  if (!isPlainObject(config)) return failSetting('chunker')
  if (typeof storeChunks !== 'boolean' || typeof fullText !== 'boolean') {
    return failSetting('chunker')
  }
  return { config, storeChunks, fullText }
}
