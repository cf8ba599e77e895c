import { expect } from 'chai'
import { preloadFolders } from '../../../lib/bounded-node.ts'

describe('preloadFolders', () => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    '': [],
    '--max-old-space-size=100': [],
    '--import=file:///opt/agent/start.mjs?a=b': ['/opt/agent'],
    '--require /opt/agent/a.cjs --import /srv/more/b.mjs': ['/opt/agent', '/srv/more'],
    '-r /opt/agent/a.cjs': ['/opt/agent'],
    '--import some-package': [],
  }
  for (const [options, folders] of Object.entries(cases)) {
    it(`finds ${folders.length} in "${options}"`, () => {
      expect(preloadFolders({ NODE_OPTIONS: options })).to.deep.equal(folders)
    })
  }

  it('finds none without options', () => {
    expect(preloadFolders({})).to.deep.equal([])
  })
})
