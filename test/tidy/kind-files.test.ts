import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT } from './imports.ts'
import { kindFiles } from './kind-files.ts'

describe('the files of the kinds', () => {
  it('are what operator/kinds says (npm run crds)', async () => {
    const made = await kindFiles(ROOT)

    const stale = Object.entries(made)
      .filter(([file, text]) => readFileSync(path.join(ROOT, file), 'utf8') !== text)
      .map(([file]) => file)
    expect(stale).to.deep.equal([])
  })
})
