import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { SCENARIOS } from '../../support/cluster-lab/scenarios/all-scenarios.ts'

const PAGE = path.resolve(import.meta.dirname, '../../../docs/lab/faults.md')

describe('the fault table', () => {
  it('has a row for each scenario, in its words', () => {
    const rows = readFileSync(PAGE, 'utf8')
      .split('\n')
      .filter((line) => /^\| F\d+[a-z]? +\|/.test(line))
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, id, title, holds]) => ({ id, title, holds }))

    expect(rows).to.deep.equal(SCENARIOS.map(({ id, title, holds }) => ({ id, title, holds })))
  })
})
