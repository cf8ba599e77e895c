import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { withTables } from './readme-tables.ts'

const README = path.resolve(import.meta.dirname, '../../README.md')

describe('the README', () => {
  it('has the options and exit codes that the programs have (npm run readme)', () => {
    const text = readFileSync(README, 'utf8')

    expect(text).to.equal(withTables(text))
  })
})
