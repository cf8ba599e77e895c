import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { shellWord } from '../../../lib/own-command.ts'

describe('a word of a command line', () => {
  for (const text of ['books', 'a b', "it's", '', '$HOME', '`id`', '*', '["0.5","a"]', '\\']) {
    it(`reaches a program as it is: ${JSON.stringify(text)}`, () => {
      const read = execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`])

      expect(read.toString()).to.equal(text)
    })
  }
})
