import { expect } from 'chai'
import { withPictures } from './architecture-picture.ts'
import { textOf } from './imports.ts'

describe('ARCHITECTURE.md', () => {
  it('shows the layers and folders that the imports make (npm run architecture)', () => {
    const text = textOf('ARCHITECTURE.md')

    expect(text).to.equal(withPictures(text))
  })
})
