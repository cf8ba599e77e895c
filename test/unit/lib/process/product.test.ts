import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { readProduct } from '../../../../lib/process/product.ts'

describe('readProduct', () => {
  let root: string

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-product-'))
    await writeFile(path.join(root, 'package.json'), '{"version":"1.2.3"}')
  })
  afterEach(() => rm(root, { recursive: true }))

  it('knows no commit in a checkout, whose files may have changed since', () => {
    expect(readProduct(root)).to.include({ version: '1.2.3' }).and.not.to.have.property('gitCommit')
    expect(readProduct()).not.to.have.property('gitCommit')
  })

  it('reads the commit that an image was made from', async () => {
    await writeFile(path.join(root, 'build.json'), '{"git_commit":"4f2c9a1d"}')

    expect(readProduct(root)).to.include({ version: '1.2.3', gitCommit: '4f2c9a1d' })
  })

  it('does not pass over a damaged file', async () => {
    await writeFile(path.join(root, 'build.json'), '{"git_com')

    expect(() => readProduct(root)).to.throw(SyntaxError)
  })
})
