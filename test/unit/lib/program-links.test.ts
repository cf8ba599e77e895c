import { mkdtempSync, mkdirSync, rmSync, symlinkSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { withTargets } from '../../../lib/bounded-node.ts'

describe('what a process with permissions may read', () => {
  it('is a link and where it leads, and a path that is not there', () => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'quarry-links-')))
    const [plain, link, absent] = ['plain', 'link', 'absent'].map((name) => path.join(folder, name))
    try {
      mkdirSync(plain!)
      symlinkSync(plain!, link!)

      expect(withTargets([plain!, link!, absent!])).to.deep.equal([plain, link, plain, absent])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
