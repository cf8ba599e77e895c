// What the indexes of each kind are made from.

import type { IndexDefinition } from '../host/index-definition.ts'

/** The JSON text of documents, or what the shard keeps of each for this index (embedding/artifact.ts). */
export type IndexFeed = 'documents' | 'artifacts'

const FEEDS: ReadonlyMap<string, IndexFeed> = new Map([['vectors', 'artifacts']])

export function feedOf(kind: string): IndexFeed {
  return FEEDS.get(kind) ?? 'documents'
}

/** Whether the store makes the index's artifacts from documents, because no client writes them. */
export function isEnriched({
  kind,
  settings,
}: Pick<IndexDefinition, 'kind' | 'settings'>): boolean {
  if (feedOf(kind) !== 'artifacts') return false
  const isObject = typeof settings === 'object' && settings !== null
  return isObject && 'external' in settings && settings.external === false
}
