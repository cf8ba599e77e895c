import { expect } from 'chai'
import {
  completeEntries,
  directoryEntry,
  QUARRY_USER,
  sizeOf,
  textEntry,
} from '../../../../images/files/entries.ts'

describe('completeEntries', () => {
  it('puts each directory before what it holds, in one order', () => {
    const entries = completeEntries([
      textEntry('b/c/d', ''),
      textEntry('a', ''),
      textEntry('b/a', ''),
    ])

    expect(entries.map(({ kind, path }) => `${kind} ${path}`)).to.deep.equal([
      'file a',
      'directory b',
      'file b/a',
      'directory b/c',
      'file b/c/d',
    ])
  })

  it('keeps the mode and owner of a directory that is given', () => {
    const given = directoryEntry('var/data', { mode: 0o750, owner: QUARRY_USER })
    const entries = completeEntries([given, textEntry('var/data/file', '')])

    expect(entries.find(({ path }) => path === 'var/data')).to.deep.equal(given)
  })

  it('takes the later one of two with one path', () => {
    expect(sizeOf(completeEntries([textEntry('a', 'older'), textEntry('a', 'new')]))).to.equal(3)
  })
})
