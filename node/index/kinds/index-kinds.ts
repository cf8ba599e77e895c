// The kinds of index that the product has. A new one adds its descriptor here and its engines in index-worker.ts;
// docs/decisions/0204-one-descriptor-for-each-kind-of-index.md lists what else it needs.

import {
  readEmbeddingsSettings,
  readRequestedManaged,
  type EmbeddingsSettings,
  type RequestedManaged,
} from '../../embedding/settings.ts'
import type { IndexDefinition } from '../host/index-definition.ts'
import type { AnyIndexDescriptor, IndexFeed } from './index-descriptor.ts'
import { TEXT_INDEX } from './text-descriptor.ts'
import { VECTOR_INDEX } from './vector-descriptor.ts'

/** By the stored word. */
export const INDEX_KINDS = {
  [TEXT_INDEX.kind]: TEXT_INDEX,
  [VECTOR_INDEX.kind]: VECTOR_INDEX,
} as const
/** What the workers of these indexes run. */
export const INDEX_WORKER = new URL('./index-worker.ts', import.meta.url)

export type ProductKind = keyof typeof INDEX_KINDS

/** What a descriptor reads of a definition. */
type Described = Pick<IndexDefinition, 'kind' | 'settings'>

const DESCRIPTORS: ReadonlyMap<string, AnyIndexDescriptor> = new Map(Object.entries(INDEX_KINDS))
/** Types that the API names and no version has yet. */
const LATER_TYPES: ReadonlySet<unknown> = new Set(['graph'])

/** Undefined for a kind of a later version. */
export function descriptorOf(kind: string): AnyIndexDescriptor | undefined {
  return DESCRIPTORS.get(kind)
}

/** By the word that clients use. */
export function descriptorOfType(type: unknown): AnyIndexDescriptor | undefined {
  return DESCRIPTORS.values().find((known) => known.type === type)
}

export function isLaterType(type: unknown): boolean {
  return LATER_TYPES.has(type)
}

export function feedOf(kind: string): IndexFeed {
  return descriptorOf(kind)?.feed ?? 'documents'
}

/** Whether the store makes the index's artifacts from documents, because no client writes them. */
export function isEnriched({ kind, settings }: Described): boolean {
  return descriptorOf(kind)?.isEnriched(settings) === true
}

export function isSearchedByWords({ kind }: Pick<IndexDefinition, 'kind'>): boolean {
  return descriptorOf(kind)?.searchedBy === 'words'
}

/** The settings of an index of vectors; undefined for any other index. */
export function embeddingsOf(index: Described): EmbeddingsSettings | undefined {
  return hasVectors(index) ? readEmbeddingsSettings(index.settings) : undefined
}

/** As `embeddingsOf`, for an index that is about to be created and whose vectors the store makes. */
export function requestedManagedOf(index: Described): RequestedManaged | undefined {
  return hasVectors(index) ? readRequestedManaged(index.settings) : undefined
}

function hasVectors({ kind }: Described): boolean {
  return descriptorOf(kind)?.searchedBy === 'vectors'
}
