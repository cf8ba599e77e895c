// Tables of articles with the full-text index that every table has.

import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import { ARTICLE_SCHEMA } from './article-schema.ts'

/** Behind all keys of documents. */
const LAST_KEY = 'last'

export async function createArticleTable(server: QuarryServer, table: string): Promise<void> {
  await createIndexedTable(server, table, { schema: ARTICLE_SCHEMA })
}

/**
 * Returns when everything that was written is found: the index follows the log in order, so that it
 * has met all of it when it has met one more write.
 */
export async function waitUntilSearchable({ origin }: QuarryServer, table: string): Promise<void> {
  const body = { inserts: { [LAST_KEY]: {} }, sync_level: 'full_text' }
  await call(`${origin}${batchPath(table)}`, 'POST', body)
}

export function queryPath(table: string): string {
  return `${tablePath(table)}/query`
}
