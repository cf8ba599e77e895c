// `npm run readme`: writes the tables of documents again.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DOCUMENTS, withTables } from './readme-tables.ts'

for (const [document, tables] of Object.entries(DOCUMENTS)) {
  const file = path.resolve(import.meta.dirname, '../..', document)
  writeFileSync(file, withTables(readFileSync(file, 'utf8'), tables))
}
