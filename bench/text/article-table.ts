// Tables of articles with the full-text index that every table has.

import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import { ARTICLE_SCHEMA } from './article-schema.ts'

/** A key after all keys of documents. */
const LAST_KEY = 'last'

export async function createArticleTable(server: QuarryServer, table: string): Promise<void> {
  await createIndexedTable(server, table, { schema: ARTICLE_SCHEMA })
}

/**
 * Resolves when all written documents are searchable. The index follows the log in order, so one more
 * write that is searchable proves it.
 */
export async function waitUntilSearchable({ origin }: QuarryServer, table: string): Promise<void> {
  const body = { inserts: { [LAST_KEY]: {} }, sync_level: 'full_text' }
  await call(`${origin}${batchPath(table)}`, 'POST', body)
}

export function queryPath(table: string): string {
  return `${tablePath(table)}/query`
}
