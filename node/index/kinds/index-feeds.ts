// What the indexes of each kind are made from.

/** The JSON text of documents, or what the shard keeps of each for this index (embedding/artifact.ts). */
export type IndexFeed = 'documents' | 'artifacts'

const FEEDS: ReadonlyMap<string, IndexFeed> = new Map([['vectors', 'artifacts']])

export function feedOf(kind: string): IndexFeed {
  return FEEDS.get(kind) ?? 'documents'
}
