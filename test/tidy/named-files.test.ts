// Pages for people who change the code name its files by the ends of their paths: each of them is there.

import { expect } from 'chai'
import { textOf } from './imports.ts'
import { trackedFiles } from './links.ts'

const PAGES = ['ARCHITECTURE.md', 'docs/explanation/architecture.md', 'docs/reference/glossary.md']
const NAMED = /`(?<name>[\w/.-]+\.ts)`/g

const files = trackedFiles().filter((file) => file.endsWith('.ts'))

describe('the files that pages name', () => {
  for (const page of PAGES) {
    it(`are there, in ${page}`, () => {
      const names = [...textOf(page).matchAll(NAMED)].map(({ groups }) => groups?.['name'] ?? '')
      const missing = names.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))

      expect(names.length).to.be.greaterThan(0)
      expect(missing).to.deep.equal([])
    })
  }
})
