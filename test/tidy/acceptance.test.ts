// docs/lab/acceptance.md against the tests that it names.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOT, textOf } from './imports.ts'

const PAGE = 'docs/lab/acceptance.md'
const TESTS_COUNT = 88
const STATE = /^(?:shown|in part|not yet|waits for [a-z ]+)$/
const LINK = /\]\(\.\.\/\.\.\/(?<file>[^)]+)\)/g

interface Row {
  readonly name: string
  readonly files: readonly string[]
  readonly state: string
  readonly said: string
}

/** Rows of both kinds of tables: the tests by their numbers, and the faults. */
function rowsOf(page: string): readonly Row[] {
  return page.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    const [, name = '', , , tests = '', state = '', said = ''] = cells
    if (!/^(?:\d+|F\d+)$/.test(name)) return []
    const files = [...tests.matchAll(LINK)].map(({ groups }) => groups?.['file'] ?? '')
    return [{ name, files, state, said }]
  })
}

const rows = rowsOf(textOf(PAGE))
const isShown = ({ state }: Row): boolean => state === 'shown' || state === 'in part'

describe('the acceptance of the operator', () => {
  it('has each test once, in order', () => {
    const numbers = rows.filter(({ name }) => !name.startsWith('F')).map(({ name }) => Number(name))

    expect(numbers).to.deep.equal(Array.from({ length: TESTS_COUNT }, (_, index) => index + 1))
  })

  it('names tests that exist', () => {
    const named = rows.flatMap(({ files }) => files)

    expect(named.filter((file) => !file.endsWith('.test.ts'))).to.deep.equal([])
    expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).to.deep.equal([])
  })

  it('has a state for each, and a test for what is shown', () => {
    expect(rows.filter(({ state }) => !STATE.test(state))).to.deep.equal([])
    expect(rows.filter((row) => isShown(row) && row.files.length === 0)).to.deep.equal([])
  })

  it('says what is missing where a row is not shown whole', () => {
    const silent = rows.filter(
      ({ state, said }) => (state === 'in part' || state === 'not yet') && said === '',
    )

    expect(silent).to.deep.equal([])
  })
})
