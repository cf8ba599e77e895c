// docs/lab/first-minutes.md names a test for what it says: these tests exist.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const CITED = /`(?<file>test\/[\w/.-]+\.ts)`: (?<title>[^|\n]*?) *\|/g

function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

/** In a row of the table; a title may be the constant end or beginning of one with parameters. */
const citations = [...textOf('docs/lab/first-minutes.md').matchAll(CITED)].map(({ groups }) => ({
  file: groups?.['file'] ?? '',
  title: groups?.['title'] ?? '',
}))

describe('the table of what a newcomer found', () => {
  it('names tests that exist', () => {
    const missing = citations.filter(({ file, title }) => {
      return !existsSync(path.join(ROOT, file)) || !textOf(file).includes(title)
    })

    expect(citations.length).to.be.greaterThan(40)
    expect(missing).to.deep.equal([])
  })

  it('has a row for each of the eighteen defects', () => {
    const rows = textOf('docs/lab/first-minutes.md').matchAll(
      /^\| (?<number>\d+) +\| .* \| `test\//gm,
    )

    expect([...rows].map(({ groups }) => Number(groups?.['number'])).slice(0, 18)).to.deep.equal(
      Array.from({ length: 18 }, (_, index) => index + 1),
    )
  })
})
