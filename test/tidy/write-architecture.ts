// `npm run architecture`: draws ARCHITECTURE.md's pictures again.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { withPictures } from './architecture-picture.ts'
import { ROOT } from './imports.ts'

const ARCHITECTURE = path.join(ROOT, 'ARCHITECTURE.md')

writeFileSync(ARCHITECTURE, withPictures(readFileSync(ARCHITECTURE, 'utf8')))
