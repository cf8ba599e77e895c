// `npm run crds`: writes the definitions of kinds, and the tables about them, again.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './imports.ts'
import { kindFiles } from './kind-files.ts'

for (const [file, text] of Object.entries(await kindFiles(ROOT))) {
  writeFileSync(path.join(ROOT, file), text)
}
