// `npm run docs`: writes the parts of pages again that are made from the code, from contracts and from other pages.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './imports.ts'
import { writtenPages } from './pages.ts'

for (const [page, text] of await writtenPages()) writeFileSync(path.join(ROOT, page), text)
