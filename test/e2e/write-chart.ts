// npm run chart: writes the files that are made from the chart, crds/ and ops/.

import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { copiedFiles, renderedFiles, type Files } from './support/chart-files.ts'
import { ROOT } from './support/helm.ts'

function write(files: Files): void {
  for (const [file, content] of files) {
    mkdirSync(path.dirname(path.join(ROOT, file)), { recursive: true })
    writeFileSync(path.join(ROOT, file), content)
    process.stdout.write(`${file}\n`)
  }
}

// First, because Helm reads them, and because they can be written where there is no Helm.
write(copiedFiles())
write(await renderedFiles())
