// `npm run readme`: writes the README's tables again.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { withTables } from './readme-tables.ts'

const README = path.resolve(import.meta.dirname, '../../README.md')

writeFileSync(README, withTables(readFileSync(README, 'utf8')))
