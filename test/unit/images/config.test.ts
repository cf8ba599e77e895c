import { expect } from 'chai'
import { parseImageCommand } from '../../../images/config.ts'

describe('parseImageCommand', () => {
  it('takes a name with a tag, in a registry or not', () => {
    for (const name of [
      'quarry:0.1.0',
      'a/b/quarry:next',
      'registry.example:5000/quarry:0.1.0-rc.1',
    ]) {
      expect(parseImageCommand(['--out', 'out', '--name', name]).name).to.equal(name)
    }
    expect(parseImageCommand(['--out', 'out']).name).to.equal(undefined)
  })

  for (const name of [
    '',
    'quarry',
    'Quarry:1',
    'quarry:',
    'registry.example:5000/quarry',
    'a b:1',
    'a:1\n',
  ]) {
    it(`refuses the name ${JSON.stringify(name)}`, () => {
      expect(() => parseImageCommand(['--out', 'out', '--name', name])).to.throw('--name')
    })
  }

  it('needs one of a layout and a tar', () => {
    expect(() => parseImageCommand([])).to.throw('--out')
    expect(() => parseImageCommand(['--out', 'out', '--rootfs'])).to.throw('--rootfs')
  })
})
