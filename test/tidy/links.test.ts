// Every link of a Markdown page leads to a file, and to a heading of it. What code names of the documents exists too.

import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { anchorsOf, linksOf, namedDocuments, trackedFiles } from './links.ts'
import { ROOT, textOf } from './imports.ts'

const files = trackedFiles()
const pages = files.filter((file) => file.endsWith('.md'))

function whyBroken(target: string, anchor: string | undefined): string | undefined {
  if (target.startsWith('..') || !existsSync(path.join(ROOT, target))) return `no ${target}`
  if (anchor === undefined || !target.endsWith('.md')) return undefined
  return anchorsOf(textOf(target)).includes(anchor) ? undefined : `no ${target}#${anchor}`
}

describe('the links of documents', () => {
  it('lead to files and headings that are there', () => {
    const broken = pages.flatMap((page) =>
      linksOf(textOf(page)).flatMap(({ target, anchor }) => {
        const file = target === '' ? page : path.posix.join(path.posix.dirname(page), target)
        const why = whyBroken(file, anchor)
        return why === undefined ? [] : [`${page}: ${why}`]
      }),
    )

    expect(pages.length).to.be.greaterThan(100)
    expect(broken).to.deep.equal([])
  })

  it('in comments, messages and settings name pages and headings that are there', () => {
    const broken = files
      .filter((file) => !file.endsWith('.md'))
      .flatMap((file) =>
        namedDocuments(file).flatMap(({ target, anchor }) => {
          const why = whyBroken(target, anchor)
          return why === undefined ? [] : [`${file}: ${why}`]
        }),
      )

    expect(broken).to.deep.equal([])
  })

  it('are read as GitHub reads them', () => {
    const page =
      '# A `b`, c!\n\n```md\n# no\n[no](no.md)\n```\n\n## Same\n\n## Same\n\n[a](b.md#c) `[d](e)`'

    expect(anchorsOf(page)).to.deep.equal(['a-b-c', 'same', 'same-1'])
    expect(linksOf(page)).to.deep.equal([{ target: 'b.md', anchor: 'c' }])
  })
})
