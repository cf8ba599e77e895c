import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { DOCUMENTS, withTables } from './readme-tables.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

for (const [document, tables] of Object.entries(DOCUMENTS)) {
  describe(document, () => {
    it('has the options and exit codes that the programs have (npm run readme)', () => {
      const text = readFileSync(path.join(ROOT, document), 'utf8')

      expect(text).to.equal(withTables(text, tables))
    })
  })
}
