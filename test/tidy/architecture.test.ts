import { expect } from 'chai'
import { withPictures } from './architecture-picture.ts'
import { textOf } from './imports.ts'
import { LAYERS } from './layers.ts'

const ROW = /^\| `(?<layer>[\w/-]+?)\/?` +\|/gm

describe('ARCHITECTURE.md', () => {
  it('shows the layers and folders that the imports make (npm run architecture)', () => {
    const text = textOf('ARCHITECTURE.md')

    expect(text).to.equal(withPictures(text))
  })

  it('says of each layer what it owns', () => {
    const told = [...textOf('ARCHITECTURE.md').matchAll(ROW)].map(({ groups }) => groups?.['layer'])

    expect(Object.keys(LAYERS).filter((layer) => !told.includes(layer))).to.deep.equal([])
  })
})
