// A name such as ED4 means one invariant: comments and tests cite it, and a reader looks it up.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const INVARIANT = /^\/\/ {1,4}(?<letters>[A-Z]{1,3})(?<number>\d{1,2}) {2}\S/
/** Letters that begin names in several files, which are cited inside their own file alone. This list only shrinks. */
const SHARED: readonly string[] = [
  'CS',
  'CT',
  'CW',
  'D',
  'ER',
  'F',
  'FL',
  'H',
  'HC',
  'L',
  'LT',
  'M',
  'MP',
  'O',
  'P',
  'PC',
  'PH',
  'PR',
  'R',
  'S',
  'SR',
  'W',
]

const sources = globSync('{node,lib,inference,operator,door,cli,clients/typescript/src}/**/*.ts', {
  cwd: ROOT,
})

interface Given {
  readonly file: string
  readonly letters: string
  readonly name: string
}

const given = sources.flatMap((file): readonly Given[] => {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line) => {
    const { letters, number } = INVARIANT.exec(line)?.groups ?? {}
    return letters === undefined ? [] : [{ file, letters, name: `${letters}${number}` }]
  })
})

describe('the names of invariants', () => {
  it('are found in the headers of files', () => {
    expect(given.map(({ name }) => name)).to.include.members(['TG5', 'ED4', 'MB1'])
  })

  it('are given once in a file', () => {
    const twice = Map.groupBy(given, ({ file, name }) => `${name} in ${file}`)

    expect([...twice].filter(([, all]) => all.length > 1).map(([which]) => which)).to.deep.equal([])
  })

  it('are given by one file, but for those that are known to be shared', () => {
    const byLetters = Map.groupBy(given, ({ letters }) => letters)
    const shared = [...byLetters].filter(([, all]) => {
      const byName = Map.groupBy(all, ({ name }) => name)
      return byName.values().some((same) => new Set(same.map(({ file }) => file)).size > 1)
    })

    expect(shared.map(([letters]) => letters).toSorted()).to.deep.equal(SHARED)
  })
})
