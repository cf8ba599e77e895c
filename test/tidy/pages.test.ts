import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { linksOf } from './links.ts'
import { ROOT, textOf } from './imports.ts'
import { decisionFiles, STATUSES, statusOf } from './index-tables.ts'
import { writtenPages } from './pages.ts'

const README_BYTES_MAX = 8192

describe('pages', () => {
  it('say what the code, the contracts and other pages say (npm run docs)', async () => {
    const stale = [...(await writtenPages())]
      .filter(([page, text]) => readFileSync(path.join(ROOT, page), 'utf8') !== text)
      .map(([page]) => page)

    expect(stale).to.deep.equal([])
  })

  it('begin with a README that is read in a minute', () => {
    expect(statSync(path.join(ROOT, 'README.md')).size).to.be.at.most(README_BYTES_MAX)
  })

  it('of decisions say whether they are in force, and what changed them', () => {
    const wrong = decisionFiles().filter((file) => {
      const status = statusOf(textOf(file)) ?? ''
      const names = linksOf(status).map(({ target }) => target)
      const isDated = status.startsWith('In force.') || names.length > 0
      return !isDated || !STATUSES.some((begin) => status.startsWith(begin))
    })

    expect(wrong).to.deep.equal([])
  })
})
