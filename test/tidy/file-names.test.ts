import path from 'node:path'
import { expect } from 'chai'
import { layeredFiles } from './imports.ts'

/** Handlers are named like their operations, whatever else is about the same. */
const HANDLERS = 'node/api/handlers/'
/** Kinds of indexes have the same parts, each with the name of its part. */
const KINDS = /^node\/index\/(?:sparse|text|vector)\//

// A reader who meets a name in an import or in a log knows which file is meant.
describe('a file name', () => {
  it('means one thing inside node/', () => {
    const files = layeredFiles().filter((file) => file.startsWith('node/'))
    const named = Map.groupBy(
      files.filter((file) => !file.startsWith(HANDLERS)),
      (file) => path.basename(file),
    )
    const shared = [...named.values()].filter((alike) => new Set(alike.map(meaningOf)).size > 1)
    expect(shared).to.deep.equal([])
  })
})

function meaningOf(file: string): string {
  return KINDS.test(file) ? 'a part of an index' : file
}
