// The pages that have parts written by `npm run docs`, and what these parts should be.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { commandTables } from './command-page.ts'
import { CODE_TABLES, QUERY_TABLES } from './contract-tables.ts'
import { ROOT } from './imports.ts'
import { ALL_PAGES_TABLES, DECISION_TABLES } from './index-tables.ts'
import { INVARIANT_TABLES } from './invariant-tables.ts'
import { formatPage, withTables } from './markdown.ts'
import { TABLES, type Tables } from './page-tables.ts'

/** By their paths, the texts that the pages should have. */
export async function writtenPages(): Promise<ReadonlyMap<string, string>> {
  const all: Readonly<Record<string, Tables>> = {
    ...TABLES,
    'docs/reference/errors.md': { ...TABLES['docs/reference/errors.md'], ...CODE_TABLES },
    'docs/reference/cli.md': await commandTables(),
    'docs/reference/query.md': QUERY_TABLES,
    'docs/reference/invariants.md': INVARIANT_TABLES,
    'docs/decisions/README.md': DECISION_TABLES,
    'docs/README.md': ALL_PAGES_TABLES,
  }
  const pages = Object.entries(all).map(async ([page, tables]) => {
    const text = readFileSync(path.join(ROOT, page), 'utf8')
    return [page, await formatPage(withTables(text, tables))] as const
  })
  return new Map(await Promise.all(pages))
}
